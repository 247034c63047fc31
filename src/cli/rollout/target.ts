import type { PropagationStatus } from '../../dialects/propagation/types.ts';
import { SYSTEM_NAMESPACE } from '../../engine/dispatch/index.ts';
import type { Client } from '../../kube/client.ts';
import type { KubeObject } from '../../kube/object.ts';
import { hasCode } from '../../kube/status-error.ts';
import { readResources, resourceNamed } from '../kind-name.ts';

/** An object at the hub that is rolled out, with what it tells of it. */
export interface RolloutTarget {
  readonly kind: string;
  readonly name: string;
  /** '' for a cluster-scoped one. */
  readonly namespace: string;
  /** Where people say something to its rollout. */
  readonly saidIn: string;
  readonly status: Pick<PropagationStatus, 'rollout' | 'revisions'>;
}

/** `web` (a Propagation), `cprop/base`, `federateddeployments/web`. Throws an Error that says what to write instead. */
export async function readTarget(client: Client, word: string, namespace: string): Promise<RolloutTarget> {
  const [first = '', second, ...more] = word.split('/');
  const [kindWord, name] = second === undefined ? ['propagations.atoll.dev', first] : [first, second];
  if (name === '' || kindWord === '' || more.length > 0)
    throw new Error(`${JSON.stringify(word)} names no object: write web for a Propagation, or kind/name`);
  const resource = resourceNamed(await readResources(client), kindWord);
  const place = resource.namespaced ? namespace : '';
  let object: KubeObject;
  try {
    object = await client.get(resource, place, name);
  } catch (error) {
    if (!hasCode(error, 404)) throw error;
    const there = place === '' ? name : `${place}/${name}`;
    throw new Error(`the hub has no ${resource.kind} ${there}; see: kubectl get ${resource.resource} -A`);
  }
  return {
    kind: resource.kind,
    name,
    namespace: place,
    saidIn: place === '' ? SYSTEM_NAMESPACE : place,
    status: (object['status'] ?? {}) as RolloutTarget['status'],
  };
}

/** ` -n shop` for commands that are printed. */
export function inNamespace({ namespace }: RolloutTarget): string {
  return namespace === '' ? '' : ` -n ${namespace}`;
}
