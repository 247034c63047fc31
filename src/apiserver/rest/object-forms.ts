import { asJson, formatApiVersion, type KubeObject } from '../../kube/object.ts';
import { badRequest } from '../../kube/status-error.ts';
import { clone, numberAt } from '../../schema/json.ts';
import type { ObjectForms } from '../admission/index.ts';
import type { Resource } from '../resource.ts';
import { convertObjects } from './conversion.ts';
import { decodeObject } from './decode.ts';
import { scaleOf, setReplicas } from './scale.ts';
import type { Scope } from './scope.ts';

/** An object of `from` as `to`, which stores the same objects, has it. A copy, unless it is the same resource. */
function inVersion(
  scope: Scope,
  from: Resource,
  to: Resource,
  object: KubeObject,
): KubeObject | Promise<KubeObject> {
  if (from === to) return object;
  if (from.conversion)
    return convertObjects(scope, from, [object], to.version).then(([converted]) => converted ?? object);
  const stored = clone(from.strategy.storedForm?.to(object) ?? object);
  const shown = to.strategy.storedForm?.from(stored) ?? stored;
  shown.apiVersion = formatApiVersion(to.group, to.version);
  return shown;
}

/** Objects of requests as webhooks see them: in the version that they know, and through `scale` as a Scale. */
export const objectForms: ObjectForms = {
  show(scope, shown, object) {
    const { resource, subresource } = scope;
    if (subresource?.kind === 'Scale') return scaleOf(resource, subresource, object, false);
    // An action, such as an eviction, has one form.
    if (subresource?.kind !== undefined && subresource.kind !== resource.kind) return object;
    return inVersion(scope, resource, shown, object);
  },
  async take(scope, shown, patched, object) {
    const { resource, subresource } = scope;
    if (subresource?.kind === 'Scale') {
      const replicas = numberAt(patched, 'spec', 'replicas') ?? 0;
      if (!Number.isInteger(replicas)) throw badRequest('spec.replicas of a Scale must be an integer');
      setReplicas(subresource, object, replicas);
      return;
    }
    if (subresource?.kind !== undefined && subresource.kind !== resource.kind) {
      replaceContent(object, patched);
      return;
    }
    const decoded = decodeObject(shown, asJson(patched)).object;
    replaceContent(object, await inVersion(scope, shown, resource, decoded));
  },
};

/** Makes `target`, which others hold, equal to `source`. */
function replaceContent(target: KubeObject, source: KubeObject): void {
  for (const field of Object.keys(target)) if (!(field in source)) delete target[field];
  Object.assign(target, source);
}
