import type { Override, PatchOperation } from '../../engine/intent.ts';
import type { KubeObject } from '../../kube/object.ts';
import { isObject, type JsonObject, type JsonValue, listAt, objectAt, stringAt } from '../../schema/json.ts';
import { formatJsonPointer } from '../../schema/json-pointer.ts';
import type { LabelSelector } from '../../schema/label-selector.ts';
import { type CompiledFederated, compileFederated, type FederatedContext } from './compile.ts';
import { EARLY_OVERRIDE_FIELDS } from './early-kinds.ts';
import { isNamespaceType } from './type-config.ts';
import type { FederatedObject, FederatedPlacement } from './types.ts';

/** The objects of the early form that belong together: equal namespace and name. */
export interface EarlyParts {
  /** The template; for namespaces the Namespace itself. */
  readonly template: KubeObject;
  readonly placement?: KubeObject | undefined;
  readonly override?: KubeObject | undefined;
  /** The FederatedNamespacePlacement of the namespace. */
  readonly namespacePlacement?: KubeObject | undefined;
}

export type EarlyContext = Omit<
  FederatedContext,
  'federatedNamespace' | 'preference' | 'ready' | 'workloads'
> & {
  /** Which typed field of an override means which field of the target, for types beyond the first ones. */
  readonly overridePaths?: Readonly<Record<string, readonly string[]>>;
};

/**
 * The intent of three objects that are joined by name, computed whole: there is no state in between. Unlike later, a
 * namespace without placement goes to every cluster; everything else without one goes nowhere.
 */
export function compileEarly(parts: EarlyParts, context: EarlyContext): CompiledFederated {
  const { template, placement, override, namespacePlacement } = parts;
  const isNamespace = isNamespaceType(context.type.target);
  const { name = '' } = template.metadata;
  const everywhere: FederatedPlacement = { clusterSelector: {} };
  const federated: FederatedObject = {
    ...template,
    metadata: isNamespace ? { ...template.metadata, namespace: name } : template.metadata,
    spec: {
      template: isNamespace
        ? { metadata: { labels: { ...template.metadata.labels } } }
        : (objectAt(template, 'spec', 'template') ?? {}),
      placement: placement ? placementIn(placement) : isNamespace ? everywhere : {},
    },
  };
  const within: FederatedObject = {
    apiVersion: template.apiVersion,
    kind: 'FederatedNamespace',
    metadata: {},
    spec: { placement: namespacePlacement ? placementIn(namespacePlacement) : everywhere },
  };
  const compiled = compileFederated(federated, { ...context, federatedNamespace: within });
  const target = compiled.intent.objects[0];
  if (!override || !target) return compiled;
  const paths = context.overridePaths ?? typedPaths(context.type.target.kind);
  const blocked = new Map(compiled.blocked);
  const overrides = listAt(override, 'spec', 'overrides').flatMap((entry): Override[] => {
    const cluster = stringAt(entry, 'clusterName');
    if (cluster === undefined || !isObject(entry)) return [];
    const patch = operationsOf(entry, target, paths);
    if (typeof patch !== 'string') return patch.length === 0 ? [] : [{ clusterNames: [cluster], patch }];
    blocked.set(cluster, patch);
    return [{ clusterNames: [cluster], patch: [{ op: 'test', path: '/kind', value: patch }] }];
  });
  return { ...compiled, blocked, intent: { ...compiled.intent, overrides } };
}

function typedPaths(kind: string): Readonly<Record<string, readonly string[]>> {
  const known = EARLY_OVERRIDE_FIELDS[kind];
  return known ? { [known.field]: known.path } : {};
}

function placementIn(object: KubeObject): FederatedPlacement {
  const spec = objectAt(object, 'spec') ?? {};
  if (Array.isArray(spec['clusterNames']))
    return {
      clusters: spec['clusterNames'].flatMap((name) => (typeof name === 'string' ? [{ name }] : [])),
    };
  const selector = spec['clusterSelector'];
  return isObject(selector) ? { clusterSelector: selector as LabelSelector } : {};
}

/** The operations of one cluster, or why there are none. */
function operationsOf(
  entry: JsonObject,
  target: KubeObject,
  paths: Readonly<Record<string, readonly string[]>>,
): PatchOperation[] | string {
  const settings: [readonly string[], JsonValue][] = [];
  for (const [field, path] of Object.entries(paths)) {
    const value = entry[field];
    if (value !== undefined) settings.push([path, value]);
  }
  for (const item of listAt(entry, 'clusterOverrides')) {
    const path = stringAt(item, 'path') ?? '';
    const names = path.split('.');
    if (names.includes('')) return `${JSON.stringify(path)} is not a path, such as spec.replicas`;
    if (['kind', 'metadata.name', 'metadata.namespace', 'metadata.generateName'].includes(path))
      return `${path} cannot be overridden: it says which object it is`;
    settings.push([names, (isObject(item) ? item['value'] : undefined) ?? null]);
  }
  const made = new Set<string>();
  return settings.flatMap(([path, value]) => setting(target, path, value, made));
}

/** Sets a field, making the objects that it is in. */
function setting(
  target: KubeObject,
  path: readonly string[],
  value: JsonValue,
  made: Set<string>,
): PatchOperation[] {
  const operations: PatchOperation[] = [];
  let current: unknown = target;
  for (const [index, name] of path.slice(0, -1).entries()) {
    const pointer = formatJsonPointer(path.slice(0, index + 1));
    const next: unknown = isObject(current) ? current[name] : undefined;
    if (!isObject(next) && !made.has(pointer)) {
      operations.push({ op: 'add', path: pointer, value: {} });
      made.add(pointer);
    }
    current = next;
  }
  operations.push({ op: 'add', path: formatJsonPointer(path), value });
  return operations;
}
