import { hasCode } from '../../kube/status-error.ts';
import { formatTime } from '../../runtime/index.ts';
import type { LooseCondition, Node } from './kinds.ts';
import { keyOf, splitKey } from './owner.ts';
import { conditionOf, withCondition } from './pod-state.ts';
import { isNodeFailing } from './simulation.ts';
import type { World } from './world.ts';

/** The machines that a simulated cluster has at its start. */
export interface NodeFleet {
  /** 1 by default; 0 for none. */
  count?: number;
  /** Names are `<prefix>-1` and so on; `node` by default. */
  namePrefix?: string;
  /** Of each node: 8 cores, 32Gi, 110 pods by default. */
  cpu?: string;
  memory?: string;
  pods?: number;
  labels?: Record<string, string>;
  region?: string;
  /** Nodes are spread over the zones in turn. */
  zones?: readonly string[];
  /** `linux/amd64` by default. */
  platform?: string;
  /** Of `spec.providerID`, for example `kind`. Absent: `sim`. */
  provider?: string;
}

const HEALTH: readonly LooseCondition[] = [
  {
    type: 'MemoryPressure',
    status: 'False',
    reason: 'KubeletHasSufficientMemory',
    message: 'kubelet has sufficient memory available',
  },
  {
    type: 'DiskPressure',
    status: 'False',
    reason: 'KubeletHasNoDiskPressure',
    message: 'kubelet has no disk pressure',
  },
  {
    type: 'PIDPressure',
    status: 'False',
    reason: 'KubeletHasSufficientPID',
    message: 'kubelet has sufficient PID available',
  },
];
const READY: LooseCondition = {
  type: 'Ready',
  status: 'True',
  reason: 'KubeletReady',
  message: 'kubelet is posting ready status',
};
const NOT_READY: LooseCondition = {
  type: 'Ready',
  status: 'False',
  reason: 'KubeletNotReady',
  message: 'simulated failure',
};

const NOT_READY_TAINT = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };

/**
 * Creates the Nodes of the fleet that do not exist yet, and keeps the status of all of them: Ready, unless their
 * annotation asks for failure. Nodes send no heartbeats: a cluster at rest writes nothing.
 */
export function startNodes(world: World, fleet: NodeFleet, serverVersion: () => Promise<string>): void {
  const { nodes } = world;
  let version: string | undefined;
  const controller = world.control({
    name: 'node',
    writes: [nodes],
    reconcile: async (key) => {
      const [, name] = splitKey(key);
      const node = nodes.get('', name) ?? (await createNode(world, fleet, name));
      version ??= await serverVersion();
      if (node) await report(world, fleet, await taint(world, node), version);
    },
  });
  const wanted = new Set(
    Array.from({ length: fleet.count ?? 1 }, (_, index) => `${fleet.namePrefix ?? 'node'}-${index + 1}`),
  );
  for (const name of wanted) controller.enqueue(`/${name}`);
  nodes.onChange(({ type, object }) => {
    // A node that a user deletes stays away, until the next start.
    if (type !== 'deleted') controller.enqueue(keyOf(object));
  });
}

async function createNode(world: World, fleet: NodeFleet, name: string): Promise<Node | undefined> {
  const [os = 'linux', arch = 'amd64'] = (fleet.platform ?? 'linux/amd64').split('/');
  const index = Number(name.slice(name.lastIndexOf('-') + 1)) - 1;
  const zones = fleet.zones ?? [];
  const zone = zones[index % Math.max(1, zones.length)];
  try {
    return await world.nodes.create({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: {
        name,
        labels: {
          'beta.kubernetes.io/arch': arch,
          'beta.kubernetes.io/os': os,
          'kubernetes.io/arch': arch,
          'kubernetes.io/hostname': name,
          'kubernetes.io/os': os,
          ...(fleet.region === undefined ? {} : { 'topology.kubernetes.io/region': fleet.region }),
          ...(zone === undefined ? {} : { 'topology.kubernetes.io/zone': zone }),
          ...fleet.labels,
        },
      },
      spec: {
        providerID: `${fleet.provider ?? 'sim'}://${name}`,
        podCIDR: `10.244.${index % 256}.0/24`,
      },
    });
  } catch (error) {
    if (hasCode(error, 409)) return undefined; // there already, and not seen yet
    throw error;
  }
}

/** The server makes new nodes unfit for pods; they become fit when they are ready, and unfit again when not. */
async function taint(world: World, node: Node): Promise<Node> {
  const taints = node.spec?.taints ?? [];
  const others = taints.filter((each) => each.key !== NOT_READY_TAINT.key);
  const present = others.length < taints.length;
  if (present === isNodeFailing(node)) return node;
  const wanted = present ? others : [...others, NOT_READY_TAINT];
  return world.nodes.patch(node, {
    spec: { taints: wanted.length > 0 ? wanted.map((each) => ({ ...each })) : null },
  });
}

async function report(world: World, fleet: NodeFleet, node: Node, version: string): Promise<void> {
  const time = formatTime(world.runtime.clock.now());
  let conditions = node.status?.conditions ?? [];
  for (const each of HEALTH)
    if (!conditionOf(conditions, each.type))
      conditions = withCondition(conditions, { ...each, lastHeartbeatTime: time }, time);
  const wanted = isNodeFailing(node) ? NOT_READY : READY;
  if (conditionOf(conditions, 'Ready')?.reason !== wanted.reason)
    conditions = withCondition(conditions, { ...wanted, lastHeartbeatTime: time }, time);
  const [operatingSystem = 'linux', architecture = 'amd64'] = (fleet.platform ?? 'linux/amd64').split('/');
  const name = node.metadata.name ?? '';
  const capacity = node.status?.capacity ?? {
    cpu: fleet.cpu ?? '8',
    memory: fleet.memory ?? '32Gi',
    pods: String(fleet.pods ?? 110),
    'ephemeral-storage': '256Gi',
  };
  await world.nodes.setStatus(node, {
    ...node.status,
    capacity,
    allocatable: node.status?.allocatable ?? capacity,
    conditions,
    addresses: node.status?.addresses ?? [
      { type: 'InternalIP', address: hostAddress(name) },
      { type: 'Hostname', address: name },
    ],
    nodeInfo: {
      machineID: name,
      systemUUID: name,
      bootID: name,
      kernelVersion: 'simulated',
      osImage: 'Atoll simulated node',
      containerRuntimeVersion: 'containerd://2.0.0',
      kubeletVersion: version,
      kubeProxyVersion: '',
      operatingSystem,
      architecture,
    },
  });
}

/** An address that is the same whenever the node is made, and another for each number in its name. */
export function hostAddress(name: string): string {
  const number = Number(/\d+$/.exec(name)?.[0] ?? 1) % 65_000;
  return `10.10.${(number + 1) >> 8}.${(number + 1) & 255}`;
}
