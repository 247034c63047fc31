import type { KubeObject } from '../../../kube/object.ts';
import { type FieldError, fieldErrorBody } from '../../../kube/status-error.ts';
import { clone, deepEqual } from '../../../schema/json.ts';
import { validateDns1123Subdomain } from '../../../schema/names.ts';
import type { Strategy, StrategyContext } from '../../resource.ts';
import {
  strategyFor,
  validateObjectMeta,
  validateObjectMetaForm,
  validateObjectMetaUpdate,
} from '../index.ts';

/** Writes as the request pipeline makes them, without storage: for the tests of this room. */
export interface Written {
  object: KubeObject;
  /** `path: text`, sorted. */
  errors: string[];
}

const CLUSTER_SCOPED = new Set([
  'namespaces',
  'nodes',
  'persistentvolumes',
  'clusterroles',
  'clusterrolebindings',
  'storageclasses',
  'csidrivers',
  'priorityclasses',
  'certificatesigningrequests',
  'validatingwebhookconfigurations',
  'validatingadmissionpolicies',
  'customresourcedefinitions',
  'apiservices',
  'flowschemas',
  'runtimeclasses',
  'ingressclasses',
]);

export const CONTEXT: StrategyContext = { now: 1_700_000_000_000, user: 'jane', groups: ['devs'], uid: 'u1' };

/** `apps/deployments`, or `pods`. */
export function strategyOf(name: string): Strategy {
  const slash = name.indexOf('/');
  return slash < 0 ? strategyFor('', name) : strategyFor(name.slice(0, slash), name.slice(slash + 1));
}

export function create(name: string, given: object, others: KubeObject[] = []): Written {
  const strategy = strategyOf(name);
  const object = clone(given) as KubeObject;
  object.metadata ??= {};
  object.metadata.uid = 'uid-1';
  if (!isClusterScoped(name)) object.metadata.namespace ??= 'shop';
  strategy.defaults?.(object);
  if (strategy.generation !== 'none') object.metadata.generation = 1;
  strategy.prepareForCreate?.(object, CONTEXT);
  strategy.allocate?.(object, undefined, { all: () => others });
  return {
    object,
    errors: texts([
      ...metaErrors(name, strategy, object),
      ...(strategy.validate?.(object) ?? []),
      ...(strategy.validateCreate?.(object) ?? []),
    ]),
  };
}

/** A PUT of `given` over `old`. */
export function update(name: string, given: object, old: KubeObject, others: KubeObject[] = []): Written {
  const strategy = strategyOf(name);
  const object = clone(given) as KubeObject;
  object.metadata = { ...object.metadata };
  object.metadata.uid ??= old.metadata.uid ?? '';
  if (old.metadata.namespace !== undefined) object.metadata.namespace ??= old.metadata.namespace;
  if (old.metadata.generation !== undefined) object.metadata.generation = old.metadata.generation;
  if (old.status === undefined) delete object.status;
  else object.status = clone(old.status);
  strategy.defaults?.(object);
  strategy.prepareForUpdate?.(object, clone(old), CONTEXT);
  strategy.allocate?.(object, old, { all: () => others });
  if (raisesGeneration(strategy, object, old))
    object.metadata.generation = (old.metadata.generation ?? 0) + 1;
  return {
    object,
    errors: texts([
      ...validateObjectMetaUpdate(object, old),
      ...validateObjectMetaForm(object, old),
      ...(strategy.validateUpdate?.(object, old) ?? strategy.validate?.(object) ?? []),
    ]),
  };
}

export function texts(errors: readonly FieldError[]): string[] {
  return [...new Set(errors.map((error) => `${error.path}: ${fieldErrorBody(error)}`))].sort();
}

function isClusterScoped(name: string): boolean {
  return CLUSTER_SCOPED.has(name.slice(name.indexOf('/') + 1));
}

function metaErrors(name: string, strategy: Strategy, object: KubeObject): FieldError[] {
  return validateObjectMeta(object, {
    namespaced: !isClusterScoped(name),
    validateName: strategy.validateName ?? validateDns1123Subdomain,
  });
}

function raisesGeneration(strategy: Strategy, object: KubeObject, old: KubeObject): boolean {
  const specChanged = !deepEqual(object.spec, old.spec);
  switch (strategy.generation) {
    case 'none':
      return false;
    case 'spec':
    case 'spec-on-update':
      return specChanged;
    case 'spec-and-annotations':
      return specChanged || !deepEqual(object.metadata.annotations ?? {}, old.metadata.annotations ?? {});
    case 'all-but-metadata':
    case 'all-and-labels': {
      const { metadata: _, status: __, ...now } = object;
      const { metadata: ___, status: ____, ...before } = old;
      return !deepEqual(now, before);
    }
  }
}
