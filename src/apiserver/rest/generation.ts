import type { KubeObject } from '../../kube/object.ts';
import { deepEqual } from '../../schema/json.ts';
import type { Resource } from '../resource.ts';
import { hasSubresource } from './scope.ts';

/** Sets `metadata.generation` of an object that is about to be created. */
export function setInitialGeneration(resource: Resource, object: KubeObject): void {
  const { generation } = resource.strategy;
  if (generation === 'none') return; // nobody looks at it, so what the client says stays
  if (generation === 'spec-on-update') delete object.metadata.generation;
  else object.metadata.generation = 1;
}

/** Keeps or raises `metadata.generation` by the kind's rule. Writes to `status` and `scale` without effect keep it. */
export function setNextGeneration(resource: Resource, object: KubeObject, old: KubeObject): void {
  const { generation } = old.metadata;
  if (generation === undefined) delete object.metadata.generation;
  else object.metadata.generation = generation;
  if (resource.strategy.generation !== 'none' && changes(resource, object, old))
    object.metadata.generation = (generation ?? 0) + 1;
}

function changes(resource: Resource, object: KubeObject, old: KubeObject): boolean {
  switch (resource.strategy.generation) {
    case 'spec':
    case 'spec-on-update':
      return !deepEqual(object.spec, old.spec);
    case 'spec-and-annotations':
      return (
        !deepEqual(object.spec, old.spec) ||
        !deepEqual(object.metadata.annotations ?? {}, old.metadata.annotations ?? {})
      );
    case 'all-but-metadata':
    case 'all-and-labels': {
      if (
        resource.strategy.generation === 'all-and-labels' &&
        !deepEqual(object.metadata.labels ?? {}, old.metadata.labels ?? {})
      )
        return true;
      const ignoresStatus = hasSubresource(resource, 'status');
      const content = (value: KubeObject): Record<string, unknown> => {
        const { apiVersion: _apiVersion, kind: _kind, metadata: _metadata, ...rest } = value;
        if (ignoresStatus) delete rest.status;
        return rest;
      };
      return !deepEqual(content(object), content(old));
    }
    default:
      return false;
  }
}

/** Deleting something that has a generation raises it once, when the deletion begins. */
export function raiseForDeletion(object: KubeObject): void {
  const { generation } = object.metadata;
  if (generation !== undefined && generation > 0) object.metadata.generation = generation + 1;
}
