import { createHash } from 'node:crypto';
import { parseQuantity, quantityUnits } from '../../../schema/quantity.ts';
import type { Container, Node, Pod } from '../kinds.ts';

/** What a container uses, in billionths of a core and in bytes. */
export interface Usage {
  readonly cpu: bigint;
  readonly memory: bigint;
}

/** On a pod: what each of its containers uses, instead of a share of what it requests. */
export const CPU_USAGE = 'sim.atoll.dev/cpu-usage';
export const MEMORY_USAGE = 'sim.atoll.dev/memory-usage';

const MEBIBYTE = 1024n * 1024n;
const MILLICORE = 1_000_000n;

/**
 * The same for the same container, whenever it is asked: between 40 and 80 % of what it requests, a little where it requests
 * nothing, and never more than its limit.
 */
export function containerUsage(pod: Pod, container: Container): Usage {
  const { requests = {}, limits = {} } = container.resources ?? {};
  const annotations = pod.metadata.annotations ?? {};
  const seed = createHash('sha256')
    .update(`${pod.metadata.namespace ?? ''}/${pod.metadata.name ?? ''}/${container.name}`)
    .digest();
  const share = (index: number, of: bigint): bigint =>
    (of * BigInt(400 + (seed.readUInt16BE(index) % 401))) / 1000n;
  const cpuRequest = nanosOf(requests.cpu ?? limits.cpu);
  const memoryRequest = bytesOf(requests.memory ?? limits.memory);
  return {
    cpu: least(
      nanosOf(annotations[CPU_USAGE]) ?? share(0, cpuRequest ?? 5n * MILLICORE),
      nanosOf(limits.cpu),
    ),
    memory: least(
      bytesOf(annotations[MEMORY_USAGE]) ?? share(2, memoryRequest ?? 32n * MEBIBYTE),
      bytesOf(limits.memory),
    ),
  };
}

/** What a node uses for itself. */
const NODE_USAGE: Usage = { cpu: 60n * MILLICORE, memory: 400n * MEBIBYTE };

/** What the pods on a node use, and the node itself; not more than it has. */
export function nodeUsage(node: Node, pods: readonly Usage[]): Usage {
  const sum = (amount: (usage: Usage) => bigint): bigint =>
    [NODE_USAGE, ...pods].reduce((total, each) => total + amount(each), 0n);
  const capacity = node.status?.capacity ?? {};
  return {
    cpu: least(
      sum((each) => each.cpu),
      nanosOf(capacity.cpu),
    ),
    memory: least(
      sum((each) => each.memory),
      bytesOf(capacity.memory),
    ),
  };
}

/** In the form in which metrics servers tell it. */
export function usageText({ cpu, memory }: Usage): { cpu: string; memory: string } {
  return { cpu: cpu === 0n ? '0' : `${cpu}n`, memory: `${memory / 1024n}Ki` };
}

function least(value: bigint, limit: bigint | undefined): bigint {
  return limit === undefined || value < limit ? value : limit;
}

function nanosOf(text: string | undefined): bigint | undefined {
  const quantity = parseQuantity(text);
  return quantity && quantity.nanos >= 0n ? quantity.nanos : undefined;
}

function bytesOf(text: string | undefined): bigint | undefined {
  const quantity = parseQuantity(text);
  return quantity && quantity.nanos >= 0n ? quantityUnits(quantity) : undefined;
}
