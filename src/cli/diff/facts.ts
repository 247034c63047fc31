import { BINDING, type Binding } from '../../dialects/kubestellar/index.ts';
import { SPOKE_CLUSTER } from '../../dialects/kubevela/kinds.ts';
import type { SpokeCluster } from '../../dialects/kubevela/types.ts';
import { CLUSTER_PROPAGATION, PROPAGATION } from '../../dialects/propagation/kinds.ts';
import type { Propagation } from '../../dialects/propagation/types.ts';
import type { Client } from '../../kube/client.ts';
import { apiVersionOf, type CustomKind } from '../../kube/custom-resource.ts';
import { type KubeObject, refKey, refOf } from '../../kube/object.ts';
import { viewBindings } from '../fleet-bindings.ts';
import {
  clusterFacts,
  oldestByName,
  readFleetAtHub,
  readSources,
  type Source,
  type Sources,
  sourceKey,
} from '../fleet-reading.ts';
import type { Manifest } from './manifest-files.ts';
import { previewManifests } from './preview.ts';
import type { DiffFacts } from './report.ts';

/** Reads the fleet as it is, and as it would be if the manifests were applied at the hub. Changes nothing. */
export async function readDiff(
  hub: Client,
  manifests: readonly Manifest[],
  namespace: { readonly name: string; readonly explicit: boolean },
): Promise<DiffFacts> {
  const [fleet, previewed] = await Promise.all([
    readFleetAtHub(hub),
    previewManifests(hub, manifests, namespace),
  ]);
  const changed = [...new Map(previewed.map(({ object }) => [refKey(refOf(object)), object])).values()];
  const isOf = (kind: CustomKind) => (object: KubeObject) =>
    object.kind === kind.kind && object.apiVersion === apiVersionOf(kind);
  const propagations = overlay(fleet.propagations, [
    ...changed.filter(isOf(PROPAGATION)),
    ...changed.filter(isOf(CLUSTER_PROPAGATION)),
    ...(await viewBindings(hub, changed.filter(isOf(BINDING)) as Binding[])),
  ] as Propagation[]);
  const clusters = overlay(fleet.clusters, changed.filter(isOf(SPOKE_CLUSTER)) as SpokeCluster[]);
  const sources = await readSources(hub, [...fleet.propagations, ...propagations]);
  return {
    before: { propagations: fleet.propagations, clusters: clusterFacts(fleet.clusters), sources },
    after: {
      propagations,
      clusters: clusterFacts(oldestByName(clusters)),
      sources: changedSources(sources, changed),
    },
    changed,
  };
}

/** `present` with those of the same place replaced, and new ones added. */
function overlay<T extends KubeObject>(present: readonly T[], changed: readonly T[]): T[] {
  const byKey = new Map(present.map((object) => [refKey(refOf(object)), object]));
  for (const object of changed) byKey.set(refKey(refOf(object)), object);
  return [...byKey.values()];
}

function changedSources(sources: Sources, changed: readonly KubeObject[]): Sources {
  const out = new Map<string, Source>(sources);
  for (const [key, source] of sources) {
    const own = changed.filter((object) => sourceKey(object) === key);
    if (own.length === 0) continue;
    out.set(key, { objects: overlay('objects' in source ? source.objects : [], own) });
  }
  return out;
}
