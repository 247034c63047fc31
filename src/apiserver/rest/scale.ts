import type { KubeObject } from '../../kube/object.ts';
import { badRequest, conflict, failure, invalid, notFound } from '../../kube/status-error.ts';
import { at, clone, isObject, type JsonObject, numberAt } from '../../schema/json.ts';
import type { Resource, Subresource } from '../resource.ts';
import { commit, type Decision } from './commit.ts';
import { get } from './list.ts';
import { type Patch, patchedValue } from './patch.ts';
import type { Scope, WriteOptions } from './scope.ts';
import { prepareUpdate } from './update.ts';
import { viewOf } from './view.ts';

/** `.spec.replicas` as keys. Kubernetes allows nothing but dotted names here. */
function keysOf(path: string): string[] {
  return path.split('.').filter((key) => key !== '');
}

function paths(subresource: Subresource): NonNullable<Subresource['scale']> {
  return subresource.scale ?? { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' };
}

/** A label selector in its text form; built-ins may hold it as an object. */
function selectorText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (!isObject(value)) return '';
  const labels = isObject(value.matchLabels) ? value.matchLabels : 'matchExpressions' in value ? {} : value;
  const terms = Object.keys(labels)
    .sort()
    .map((key) => `${key}=${String(labels[key])}`);
  const expressions = Array.isArray(value.matchExpressions) ? value.matchExpressions : [];
  for (const expression of expressions) {
    if (!isObject(expression)) continue;
    const key = String(expression.key ?? '');
    const values = Array.isArray(expression.values) ? expression.values.map(String).sort().join(',') : '';
    switch (expression.operator) {
      case 'In':
        terms.push(`${key} in (${values})`);
        break;
      case 'NotIn':
        terms.push(`${key} notin (${values})`);
        break;
      case 'Exists':
        terms.push(key);
        break;
      case 'DoesNotExist':
        terms.push(`!${key}`);
        break;
      default:
    }
  }
  return terms.join(',');
}

/** The `autoscaling/v1` Scale of an object. */
export function scaleOf(resource: Resource, subresource: Subresource, object: KubeObject): KubeObject {
  const { specReplicasPath, statusReplicasPath, labelSelectorPath } = paths(subresource);
  const replicas = numberAt(object, ...keysOf(specReplicasPath));
  if (replicas === undefined && resource.custom)
    throw failure(
      500,
      'InternalError',
      `Internal error occurred: the spec replicas field ${JSON.stringify(specReplicasPath)} does not exist`,
    );
  const selector = resource.custom
    ? labelSelectorPath === undefined
      ? ''
      : selectorText(at(object, ...keysOf(labelSelectorPath)))
    : selectorText(at(object, 'spec', 'selector'));
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: {
      ...(name === undefined ? {} : { name }),
      ...(namespace === undefined ? {} : { namespace }),
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      ...(creationTimestamp ? { creationTimestamp } : {}),
    },
    spec: replicas === undefined || replicas === 0 ? {} : { replicas },
    status: {
      replicas: numberAt(object, ...keysOf(statusReplicasPath)) ?? 0,
      ...(selector === '' ? {} : { selector }),
    },
  };
}

export async function getScale(scope: Scope, subresource: Subresource, name: string): Promise<KubeObject> {
  return scaleOf(scope.resource, subresource, (await get(scope, name)).object);
}

/** Writes the replicas of a Scale (a PUT body, or what a patch makes of the present one) into its object. */
export async function writeScale(
  scope: Scope,
  subresource: Subresource,
  name: string,
  change: { readonly body: JsonObject } | { readonly patch: Patch },
  options: WriteOptions,
): Promise<KubeObject> {
  const { resource } = scope;
  const written = await commit(scope, name, options.dryRun, (current): Decision => {
    if (!current) throw notFound(resource.group, resource.resource, name);
    const live = viewOf(resource, current).object;
    const present = scaleOf(resource, subresource, live) as unknown as JsonObject;
    const value = 'body' in change ? change.body : scalePatched(present, change.patch);
    const replicas = checkScale(resource, name, value, live);
    const object = clone(live);
    setAt(object as unknown as JsonObject, keysOf(paths(subresource).specReplicasPath), replicas);
    return prepareUpdate(scope, object, live, options);
  });
  return scaleOf(resource, subresource, written.object);
}

function scalePatched(present: JsonObject, patch: Patch): JsonObject {
  const type = { schema: {}, resolve: () => undefined };
  if (patch.type !== 'apply') return patchedValue(present, patch, type);
  return patchedValue(present, { type: 'merge', body: patch.body }, type);
}

function checkScale(resource: Resource, name: string, value: JsonObject, live: KubeObject): number {
  const { kind } = value;
  if (kind !== undefined && kind !== 'Scale')
    throw badRequest(`wrong object passed to Scale update: ${String(kind)}`);
  const metadata = isObject(value.metadata) ? value.metadata : {};
  const given = metadata.name;
  if (typeof given === 'string' && given !== '' && given !== name)
    throw badRequest(`the name of the object (${given}) does not match the name on the URL (${name})`);
  const version = metadata.resourceVersion;
  if (typeof version === 'string' && version !== '' && version !== live.metadata.resourceVersion)
    throw conflict(
      resource.group,
      resource.resource,
      name,
      'the object has been modified; please apply your changes to the latest version and try again',
    );
  const replicas = at(value, 'spec', 'replicas') ?? 0;
  if (typeof replicas !== 'number' || !Number.isInteger(replicas))
    throw badRequest('spec.replicas of a Scale must be an integer');
  if (replicas < 0)
    throw invalid('autoscaling', 'Scale', name, [
      {
        type: 'Invalid',
        path: 'spec.replicas',
        value: replicas,
        detail: 'must be greater than or equal to 0',
      },
    ]);
  return replicas;
}

function setAt(target: JsonObject, keys: readonly string[], value: number): void {
  let current = target;
  keys.forEach((key, index) => {
    if (index === keys.length - 1) {
      current[key] = value;
      return;
    }
    const next = current[key];
    if (isObject(next)) current = next;
    else {
      const made: JsonObject = {};
      current[key] = made;
      current = made;
    }
  });
}
