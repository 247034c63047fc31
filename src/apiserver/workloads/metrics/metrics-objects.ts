import type { KubeObject } from '../../../kube/object.ts';
import { formatTime } from '../../../runtime/index.ts';
import { clusterPrefix, namespacePrefix } from '../../store/key.ts';
import type { Store } from '../../store/store.ts';
import type { Node, Pod } from '../kinds.ts';
import { conditionOf } from '../pod-state.ts';
import { METRICS_API_VERSION, METRICS_GROUP } from './metrics-resources.ts';
import { containerUsage, nodeUsage, type Usage, usageText } from './usage.ts';

/** A collection that is not stored but worked out when somebody asks. */
export interface ComputedScope {
  readonly cluster: string;
  /** '' for all. */
  readonly namespace: string;
  readonly resource: { readonly group: string; readonly resource: string };
}

/** How often a metrics server looks. */
const WINDOW_MS = 15_000;
const WINDOW = '15s';

/** The metrics of simulated pods and nodes, from what they request; `undefined` for other resources. In order of their names. */
export function usageMetrics(store: Store, now: number, scope: ComputedScope): KubeObject[] | undefined {
  const { cluster, namespace, resource } = scope;
  if (resource.group !== METRICS_GROUP) return undefined;
  const timestamp = formatTime(now - (now % WINDOW_MS));
  const prefix =
    namespace === '' ? clusterPrefix('', 'pods', cluster) : namespacePrefix('', 'pods', cluster, namespace);
  const measured = store
    .list(prefix)
    .records.map(({ object }) => object as Pod)
    .filter(isMeasured);
  if (resource.resource === 'pods') return measured.map((pod) => podMetrics(pod, timestamp));
  const byNode = new Map<string, Usage[]>();
  for (const pod of measured) {
    const list = byNode.get(pod.spec.nodeName ?? '') ?? [];
    list.push(...pod.spec.containers.map((container) => containerUsage(pod, container)));
    byNode.set(pod.spec.nodeName ?? '', list);
  }
  return store
    .list(namespacePrefix('', 'nodes', cluster, ''))
    .records.map(({ object }) => object as Node)
    .filter((node) => conditionOf(node.status?.conditions, 'Ready')?.status === 'True')
    .map((node) =>
      metricsOf('NodeMetrics', node, timestamp, {
        usage: usageText(nodeUsage(node, byNode.get(node.metadata.name ?? '') ?? [])),
      }),
    );
}

function isMeasured(pod: Pod): boolean {
  const statuses = pod.status?.containerStatuses ?? [];
  return pod.status?.phase === 'Running' && statuses.some((each) => each.state.running !== undefined);
}

function podMetrics(pod: Pod, timestamp: string): KubeObject {
  const running = new Set(
    pod.status?.containerStatuses
      ?.filter((each) => each.state.running !== undefined)
      .map((each) => each.name),
  );
  return metricsOf('PodMetrics', pod, timestamp, {
    containers: pod.spec.containers
      .filter(({ name }) => running.has(name))
      .map((container) => ({ name: container.name, usage: usageText(containerUsage(pod, container)) })),
  });
}

function metricsOf(kind: string, { metadata }: KubeObject, timestamp: string, measured: object): KubeObject {
  const { name, namespace, labels, creationTimestamp } = metadata;
  return {
    apiVersion: METRICS_API_VERSION,
    kind,
    metadata: {
      ...(name === undefined ? {} : { name }),
      ...(namespace === undefined ? {} : { namespace }),
      ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
      ...(labels === undefined ? {} : { labels }),
    },
    timestamp,
    window: WINDOW,
    ...measured,
  };
}
