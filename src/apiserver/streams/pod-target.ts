import type { KubeObject } from '../../kube/object.ts';
import { badRequest, failure, notFound } from '../../kube/status-error.ts';
import { objectKey } from '../store/key.ts';
import type { Store } from '../store/store.ts';
import { containersOf, type PodFacts } from '../workloads/containers/index.ts';
import type { Container, Node, Pod } from '../workloads/kinds.ts';

/** The pod that a request is about. */
export interface PodTarget {
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
}

/** A pod as it is now, with what its containers are made from. */
export interface FoundPod extends PodFacts {
  readonly key: string;
}

/** Throws 404. */
export function findPod(store: Store, { cluster, namespace, name }: PodTarget): FoundPod {
  const key = objectKey('', 'pods', cluster, namespace, name);
  const record = store.get(key);
  if (!record) throw notFound('', 'pods', name);
  const pod = record.object as Pod;
  const find = (resource: 'configmaps' | 'secrets', wanted: string): KubeObject | undefined =>
    store.get(objectKey('', resource, cluster, namespace, wanted))?.object;
  const node = pod.spec.nodeName && store.get(objectKey('', 'nodes', cluster, '', pod.spec.nodeName))?.object;
  return { key, pod, node: node ? (node as Node) : undefined, find };
}

/** The container that is asked for, or the only one. Throws 400. */
export function findContainer(pod: Pod, asked: string | undefined): Container {
  const { containers, init, ephemeral } = containersOf(pod);
  const all = [...init, ...containers, ...ephemeral];
  const name = pod.metadata.name ?? '';
  if (asked !== undefined && asked !== '') {
    const found = all.find((container) => container.name === asked);
    if (!found) throw badRequest(`container ${asked} is not valid for pod ${name}`);
    return found;
  }
  const [only, ...others] = containers;
  if (only === undefined) throw badRequest(`a container name must be specified for pod ${name}`);
  if (others.length === 0) return only;
  const names = all.map((container) => container.name).join(' ');
  throw badRequest(`a container name must be specified for pod ${name}, choose one of: [${names}]`);
}

/** Throws 400 for a pod that is on no node. */
export function requireNode(pod: Pod): void {
  if (!pod.spec.nodeName) throw badRequest(`pod ${pod.metadata.name ?? ''} does not have a host assigned`);
}

/** What a runtime says of a container that does not run. */
export function notRunning(container: string): Error {
  return failure(500, 'InternalError', `container not found (${JSON.stringify(container)})`);
}
