import {
  type InventoryCluster,
  KUBEFED_CLUSTER,
  type KubeFedCluster,
  kubeconfigSecretOf,
  kubeFedClusterOf,
  reportCluster,
  spokeClusterOf,
  validateCluster,
} from '../../dialects/kubefed/index.ts';
import { SPOKE_CLUSTER } from '../../dialects/kubevela/kinds.ts';
import type { Client } from '../../kube/client.ts';
import type { Result } from '../../kube/controller.ts';
import { resourceIdOf } from '../../kube/custom-resource.ts';
import type { EventRecorder } from '../../kube/events.ts';
import type { Informer } from '../../kube/informer.ts';
import { startInformer } from '../../kube/informer-cache.ts';
import type { KubeObject, OwnerReference } from '../../kube/object.ts';
import { hasCode, ignoring, StatusError } from '../../kube/status-error.ts';
import { secrets } from '../../kube/well-known.ts';
import { formatTime } from '../../runtime/clock.ts';
import { errorText } from '../../runtime/log.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { deepEqual, isObject, stringAt } from '../../schema/json.ts';
import type { ControlPlane } from './control-plane.ts';
import type { Federation } from './federation.ts';
import { watchKind } from './kind-watch.ts';
import { KUBEFED_METRICS, startCountedController, timed } from './metrics.ts';

const SPOKE_CLUSTERS = resourceIdOf(SPOKE_CLUSTER);
const KUBEFED_CLUSTERS = resourceIdOf(KUBEFED_CLUSTER);
const FIELD_MANAGER = 'atoll-kubefed';
/** On a KubeFedCluster that shows a SpokeCluster: the labels that both had last, as JSON. Who changed them since is told by it. */
const VIEW_ANNOTATION = 'atoll.dev/view-of-spokecluster';
/** A token is read again, since nothing tells of a Secret that changed. */
const TOKEN_MS = 60_000;
/** Nothing tells of rights that are given. */
const REFUSED_MS = 15_000;
const GATHER_MS = 50;

export interface ClustersOptions {
  /** Reads the inventory, which is the hub's and not the control plane's. */
  readonly inventoryClient: Client;
  readonly controlPlane: ControlPlane;
  readonly definitions: Informer;
  readonly federation: Federation;
  readonly events: EventRecorder;
}

/**
 * KubeFedClusters and SpokeClusters are two views of one inventory. A KubeFedCluster that somebody registers becomes a SpokeCluster
 * with a kubeconfig; a SpokeCluster that is there shows up as KubeFedCluster, without a credential. Labels of either are those of
 * both, and both say how the cluster is. Nothing of it happens where nobody uses KubeFed.
 */
export function startClusters(
  runtime: Runtime,
  { inventoryClient, controlPlane, definitions, federation, events }: ClustersOptions,
): { stop(): Promise<void> } {
  const { client } = controlPlane;
  let spokes: Informer<InventoryCluster> | undefined;
  const { clock, metrics } = runtime;
  /** When KubeFedClusters came that were not Ready since, and when they went whose entry is there still. */
  const joining = new Map<string, number>();
  const leaving = new Map<string, number>();
  const loop = startCountedController(runtime, { name: 'kubefed-clusters', concurrency: 4, reconcile });
  const members = watchKind<KubeFedCluster>(runtime, client, definitions, {
    definition: `${KUBEFED_CLUSTER.plural}.${KUBEFED_CLUSTER.group}`,
    version: KUBEFED_CLUSTER.version,
    seat: controlPlane,
    onChange({ type, object }) {
      const { name = '' } = object.metadata;
      if (type === 'deleted') {
        joining.delete(name);
        leaving.set(name, clock.monotonic());
      } else if (!joining.has(name) && object.status === undefined) joining.set(name, clock.monotonic());
      loop.enqueue(name, GATHER_MS);
    },
    onServed: follow,
  });
  const gauges = [
    metrics.gauge(KUBEFED_METRICS.clusters, () =>
      members.list().map(({ metadata, status }) => ({
        labels: { state: stateOf(status), cluster: metadata.name ?? '' },
        value: 1,
      })),
    ),
    metrics.gauge(KUBEFED_METRICS.joined, () => [{ value: members.list().length }]),
  ];
  const connecting = timed(runtime, 'connecting');
  const joins = timed(runtime, 'joining');
  const unjoins = timed(runtime, 'unjoining');

  /** Once there are KubeFedClusters, what SpokeClusters say of themselves counts. */
  function follow(): void {
    if (members.resource && !spokes) {
      const informer = startInformer<InventoryCluster>(runtime, inventoryClient, SPOKE_CLUSTERS);
      spokes = informer;
      informer.onChange(({ object }) => loop.enqueue(object.metadata.name ?? '', GATHER_MS));
      informer.whenSynced().then(all, () => undefined);
    } else if (!members.resource) {
      spokes?.stop();
      spokes = undefined;
    }
    all();
  }
  function all(): void {
    for (const { metadata } of [...members.list(), ...(spokes?.list() ?? [])])
      loop.enqueue(metadata.name ?? '', GATHER_MS);
  }
  const unsubscribe = federation.onTypes(all);

  /** The entry of the inventory: of several with one name the oldest. */
  function spokeOf(name: string): InventoryCluster | undefined {
    let oldest: InventoryCluster | undefined;
    const age = ({ metadata }: KubeObject): string =>
      `${metadata.creationTimestamp ?? ''}/${metadata.namespace ?? ''}`;
    for (const spoke of spokes?.list() ?? [])
      if (spoke.metadata.name === name && (!oldest || age(spoke) < age(oldest))) oldest = spoke;
    return oldest;
  }

  async function reconcile(name: string): Promise<Result | undefined> {
    // What may not be read may be there: nothing is shown in its place.
    if (!members.synced || members.refused || !spokes?.synced) return undefined;
    const namespace = federation.controlPlane;
    const member = members.get(namespace, name);
    const spoke = spokeOf(name);
    if (!member) {
      const wasMember = spoke?.metadata.ownerReferences?.some(({ kind }) => kind === KUBEFED_CLUSTER.kind);
      if (spoke && !wasMember && spoke.metadata.deletionTimestamp === undefined) await show(spoke, namespace);
      const leftAt = leaving.get(name);
      if (!spoke && leftAt !== undefined) {
        leaving.delete(name);
        unjoins.observe((clock.monotonic() - leftAt) / 1000);
      }
      return undefined;
    }
    leaving.delete(name);
    if (isView(member)) {
      if (!spoke) await remove(member);
      else {
        await levelLabels(member, spoke);
        await tell(member, spoke);
      }
      return undefined;
    }
    if (member.metadata.deletionTimestamp !== undefined) return undefined;
    // An entry that somebody else made is shown as it is.
    if (spoke && !isOwned(spoke, member)) {
      await tell(member, spoke);
      return undefined;
    }
    let problem: string | undefined;
    try {
      problem = await register(member, spoke);
    } catch (error) {
      if (!hasCode(error, 403)) throw error;
      await tell(member, undefined, controlPlane.refusal() ?? errorText(error), 'Forbidden');
      return { requeueAfterMs: REFUSED_MS };
    }
    await tell(member, problem === undefined ? spoke : undefined, problem);
    return { requeueAfterMs: TOKEN_MS };
  }

  /** Makes the SpokeCluster and its Secret. Says what is wrong with the KubeFedCluster, where something is. */
  async function register(
    member: KubeFedCluster,
    spoke: InventoryCluster | undefined,
  ): Promise<string | undefined> {
    const began = clock.monotonic();
    const [issue] = validateCluster(member.spec);
    if (issue) return `${issue.path}: ${issue.detail || issue.type}`;
    const token = await tokenOf(member);
    if ('problem' in token) return token.problem;
    const made = kubeconfigSecretOf(member, token.token);
    if ('problem' in made) return made.problem;
    const refused = await keepSecret(member, made.secret);
    if (refused !== undefined) return refused;
    const wanted = owned(spokeClusterOf(member, federation.settings.clusterHealthCheck), member);
    const isSame =
      spoke !== undefined &&
      deepEqual(spoke.metadata.labels ?? {}, wanted.metadata.labels ?? {}) &&
      // What the settings do not speak of is whoever's it is.
      deepEqual({ ...spoke.spec, ...wanted.spec }, spoke.spec);
    if (!isSame) {
      await client.apply(SPOKE_CLUSTERS, wanted, { fieldManager: FIELD_MANAGER, force: true });
      connecting.observe((clock.monotonic() - began) / 1000);
    }
    return undefined;
  }

  async function tokenOf(
    member: KubeFedCluster,
  ): Promise<{ readonly token: string } | { readonly problem: string }> {
    const { namespace = '' } = member.metadata;
    const { name } = member.spec.secretRef;
    try {
      const secret = await client.get(secrets, namespace, name);
      const data = stringAt(secret, 'data', 'token') ?? '';
      return data === ''
        ? { problem: `secret ${namespace}/${name} has no key token` }
        : { token: Buffer.from(data, 'base64').toString('utf8') };
    } catch (error) {
      if (hasCode(error, 404)) return { problem: `secret ${namespace}/${name} does not exist` };
      throw error;
    }
  }

  async function keepSecret(member: KubeFedCluster, secret: KubeObject): Promise<string | undefined> {
    const { namespace = '', name = '' } = secret.metadata;
    const present = await ignoring(404, client.get(secrets, namespace, name));
    if (present && !isOwned(present, member))
      return `secret ${namespace}/${name} is somebody else's, and Atoll keeps the kubeconfig of ${member.metadata.name} under that name: rename it`;
    if (present && deepEqual(present['data'], secret['data'])) return undefined;
    await client.apply(secrets, owned(secret, member), { fieldManager: FIELD_MANAGER, force: true });
    return undefined;
  }

  /** Shows a SpokeCluster as KubeFedCluster. */
  async function show(spoke: InventoryCluster, namespace: string): Promise<void> {
    const { status: _status, ...view } = kubeFedClusterOf(spoke, {
      namespace,
      // Which the API server of a hub serves to whoever may see it.
      endpoint: `https://kubernetes.default.svc/clusters/${spoke.metadata.name ?? ''}`,
    });
    const { labels = {} } = spoke.metadata;
    const { creationTimestamp: _created, ...metadata } = view.metadata;
    try {
      await client.create<KubeFedCluster>(
        KUBEFED_CLUSTERS,
        {
          ...view,
          metadata: { ...metadata, annotations: { [VIEW_ANNOTATION]: JSON.stringify(labels) } },
        },
        { fieldManager: FIELD_MANAGER },
      );
    } catch (error) {
      // Without the namespace of the control plane nobody would look there.
      if (!(error instanceof StatusError) || (error.code !== 409 && error.code !== 404)) throw error;
    }
  }

  async function remove(member: KubeFedCluster): Promise<void> {
    const { namespace = '', name = '', uid = '' } = member.metadata;
    await ignoring([404, 409], client.delete(KUBEFED_CLUSTERS, namespace, name, { preconditions: { uid } }));
  }

  /** Whoever changed labels since both had the same is followed; the KubeFedCluster where both changed. */
  async function levelLabels(member: KubeFedCluster, spoke: InventoryCluster): Promise<void> {
    const mine = member.metadata.labels ?? {};
    const theirs = spoke.metadata.labels ?? {};
    const before = labelsIn(member.metadata.annotations?.[VIEW_ANNOTATION]);
    if (deepEqual(mine, theirs) && deepEqual(mine, before)) return;
    let next: Record<string, string> = deepEqual(mine, before) ? theirs : changed(theirs, before, mine);
    // What is elsewhere is not for a control plane of one namespace to write.
    if (!controlPlane.sees(spoke.metadata.namespace ?? '')) next = theirs;
    if (!deepEqual(theirs, next)) await relabel(SPOKE_CLUSTERS, spoke, labelPatch(theirs, next));
    await relabel(KUBEFED_CLUSTERS, member, labelPatch(mine, next), {
      [VIEW_ANNOTATION]: JSON.stringify(next),
    });
  }

  async function relabel(
    resource: typeof SPOKE_CLUSTERS,
    { metadata }: KubeObject,
    labels: object,
    annotations?: object,
  ): Promise<void> {
    const { namespace = '', name = '' } = metadata;
    const patch = { metadata: { labels, ...(annotations === undefined ? {} : { annotations }) } };
    await ignoring(
      404,
      client.patch(resource, namespace, name, 'merge', patch, { fieldManager: FIELD_MANAGER }),
    );
  }

  /** Status and events of a KubeFedCluster. `problem` is what is wrong with itself. */
  async function tell(
    member: KubeFedCluster,
    spoke: InventoryCluster | undefined,
    problem?: string,
    reason: 'Malformed' | 'Forbidden' = 'Malformed',
  ): Promise<void> {
    const before = member.status;
    const status =
      problem === undefined
        ? spoke && reportCluster(spoke)
        : { conditions: [unusable(problem, reason, member, formatTime(runtime.clock.now()))] };
    if (!status || deepEqual(status, before)) return;
    const { namespace = '', name = '' } = member.metadata;
    try {
      await client.patch(
        KUBEFED_CLUSTERS,
        namespace,
        name,
        'merge',
        { status: { kubernetesVersion: null, zones: null, region: null, ...status } },
        { subresource: 'status' },
      );
    } catch (error) {
      if (!hasCode(error, 404)) throw error;
      return;
    }
    const had = (type: string): boolean =>
      before?.conditions.some((item) => item.type === type && item.status === 'True') === true;
    const since = joining.get(name);
    if (since !== undefined && stateOf(status) === 'ready') {
      joining.delete(name);
      joins.observe((clock.monotonic() - since) / 1000);
    }
    for (const condition of status.conditions) {
      if (condition.status !== 'True' || had(condition.type)) continue;
      const { message = '' } = condition;
      if (condition.type === 'Offline')
        events.record(member, 'Warning', 'RetrievingClusterHealthFailed', message);
      else if (condition.type === 'ConfigMalformed')
        events.record(member, 'Warning', 'MalformedClusterConfig', message);
    }
  }

  return {
    async stop(): Promise<void> {
      unsubscribe();
      for (const remove of gauges) remove();
      members.stop();
      spokes?.stop();
      await loop.stop();
    },
  };
}

/** A cluster in one word, as the metric of clusters has it. */
function stateOf(status: KubeFedCluster['status']): 'ready' | 'notready' | 'offline' | 'malformed' {
  const is = (type: string): boolean =>
    status?.conditions.some((item) => item.type === type && item.status === 'True') === true;
  if (is('Ready')) return 'ready';
  if (is('Offline')) return 'offline';
  return is('ConfigMalformed') ? 'malformed' : 'notready';
}

function isView({ metadata }: KubeObject): boolean {
  return metadata.annotations?.[VIEW_ANNOTATION] !== undefined;
}

function isOwned({ metadata }: KubeObject, owner: KubeObject): boolean {
  return metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid) === true;
}

function owned<T extends KubeObject>(object: T, owner: KubeObject): T {
  const reference: OwnerReference = {
    apiVersion: owner.apiVersion,
    kind: owner.kind,
    name: owner.metadata.name ?? '',
    uid: owner.metadata.uid ?? '',
    controller: true,
  };
  return { ...object, metadata: { ...object.metadata, ownerReferences: [reference] } };
}

function labelsIn(json: string | undefined): Record<string, string> {
  let value: unknown;
  try {
    value = JSON.parse(json ?? '{}');
  } catch {
    // Somebody wrote into our annotation: then nothing is known of before.
    return {};
  }
  if (!isObject(value)) return {};
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, text]) => (typeof text === 'string' ? [[key, text]] : [])),
  );
}

/** `base` with what is different between `before` and `after`. */
function changed(
  base: Readonly<Record<string, string>>,
  before: Readonly<Record<string, string>>,
  after: Readonly<Record<string, string>>,
): Record<string, string> {
  const out = { ...base };
  for (const key of Object.keys(before)) if (after[key] === undefined) delete out[key];
  for (const [key, value] of Object.entries(after)) if (before[key] !== value) out[key] = value;
  return out;
}

function labelPatch(
  from: Readonly<Record<string, string>>,
  to: Readonly<Record<string, string>>,
): Record<string, string | null> {
  const gone = Object.keys(from).filter((key) => to[key] === undefined);
  return { ...Object.fromEntries(gone.map((key) => [key, null])), ...to };
}

/** Nothing can be done with a KubeFedCluster. The same for the same problem, so that it is written once. */
function unusable(
  message: string,
  why: 'Malformed' | 'Forbidden',
  { status }: KubeFedCluster,
  now: string,
): NonNullable<KubeFedCluster['status']>['conditions'][number] {
  const [type, word, reason] =
    why === 'Malformed'
      ? (['ConfigMalformed', 'True', 'ClusterConfigMalformed'] as const)
      : (['Ready', 'False', 'Forbidden'] as const);
  const before = status?.conditions.find((item) => item.type === type);
  if (before?.message === message && before.reason === reason) return before;
  return {
    type,
    status: word,
    lastProbeTime: now,
    lastTransitionTime: before?.status === word ? (before.lastTransitionTime ?? now) : now,
    reason,
    message,
  };
}
