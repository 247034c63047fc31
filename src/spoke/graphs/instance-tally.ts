import type { InstanceTally } from '../../dialects/kro/index.ts';
import type { KubeObject } from '../../kube/object.ts';
import { isObject, listAt, stringAt } from '../../schema/json.ts';

export function stateOf(instance: KubeObject): string {
  return stringAt(instance, 'status', 'state') ?? '';
}

/** How instances are doing. Of those that failed the first by name is told, so that the same ones are told the same way. */
export function tallyOf(instances: readonly KubeObject[]): InstanceTally {
  let active = 0;
  let first: { readonly name: string; readonly rank: number; readonly instance: KubeObject } | undefined;
  for (const instance of instances) {
    const state = stateOf(instance);
    if (state === 'ACTIVE') {
      active += 1;
      continue;
    }
    const name = nameOf(instance);
    const rank = state === 'ERROR' ? 0 : 1;
    if (!first || rank < first.rank || (rank === first.rank && name < first.name))
      first = { name, rank, instance };
  }
  return {
    total: instances.length,
    active,
    ...(first && {
      first: {
        name: first.name,
        state: stateOf(first.instance) || 'IN_PROGRESS',
        message: whyNotReady(first.instance),
      },
    }),
  };
}

function nameOf({ metadata: { namespace = '', name = '' } }: KubeObject): string {
  return namespace === '' ? name : `${namespace}/${name}`;
}

function whyNotReady(instance: KubeObject): string {
  const ready = listAt(instance, 'status', 'conditions').find(
    (condition) => isObject(condition) && condition['type'] === 'Ready' && condition['status'] !== 'True',
  );
  return stringAt(ready, 'message') ?? '';
}
