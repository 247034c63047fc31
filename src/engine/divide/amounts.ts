import { isObject, type JsonObject, listAt, objectAt } from '../../schema/json.ts';
import { parseQuantity } from '../../schema/quantity.ts';

/** Amounts of resources as Kubernetes schedules by them: thousandths for `cpu`, whole units (bytes, pieces) for all others. */
export type Amounts = Readonly<Record<string, number>>;

const MILLI = 1_000_000n;
const UNIT = 1_000_000_000n;

/** An amount of a quantity; needs are rounded up, what is there is rounded down. 0 for what is no quantity. */
export function amountOf(resource: string, quantity: unknown, rounding: 'up' | 'down'): number {
  const nanos = parseQuantity(quantity)?.nanos ?? 0n;
  const unit = resource === 'cpu' ? MILLI : UNIT;
  const whole = nanos / unit;
  const rest = nanos % unit;
  return Number(rounding === 'up' && rest > 0n ? whole + 1n : rest < 0n ? whole - 1n : whole);
}

export function amountsOf(quantities: unknown, rounding: 'up' | 'down'): Record<string, number> {
  const amounts: Record<string, number> = {};
  if (!isObject(quantities)) return amounts;
  for (const [resource, quantity] of Object.entries(quantities))
    amounts[resource] = amountOf(resource, quantity, rounding);
  return amounts;
}

export function plus(a: Amounts, b: Amounts): Record<string, number> {
  const total: Record<string, number> = { ...a };
  for (const [resource, amount] of Object.entries(b)) total[resource] = (total[resource] ?? 0) + amount;
  return total;
}

/** What is left of `free` after `times` · `need`. Of what is not counted nothing is taken. */
export function minus(free: Amounts, need: Amounts, times = 1): Record<string, number> {
  const rest: Record<string, number> = { ...free };
  for (const [resource, amount] of Object.entries(need)) {
    const here = rest[resource];
    if (here !== undefined && amount > 0) rest[resource] = here - times * amount;
  }
  return rest;
}

/**
 * How many times `need` fits into `free`, and what it is that there is too little of. Of a resource that is not there
 * there is none, but for the number of pods: who does not count them has no limit.
 */
export function timesIn(free: Amounts, need: Amounts): { readonly times: number; readonly scarce: string } {
  let times = Number.POSITIVE_INFINITY;
  let scarce = '';
  for (const [resource, amount] of Object.entries(need)) {
    if (amount <= 0 || (resource === 'pods' && free[resource] === undefined)) continue;
    const here = Math.max(0, Math.floor((free[resource] ?? 0) / amount));
    if (here < times) {
      times = here;
      scarce = resource;
    }
  }
  return { times, scarce };
}

/**
 * What a pod asks its node for: the sum of its containers and of the init containers that go on running, or what it takes to
 * start them where that is more; its overhead; and one place among the node's pods.
 */
export function podNeeds(spec: JsonObject | undefined): Amounts {
  let running: Record<string, number> = {};
  let starting: Record<string, number> = {};
  for (const container of listAt(spec, 'initContainers')) {
    const needs = containerNeeds(container);
    const during = plus(running, needs);
    for (const [resource, amount] of Object.entries(during))
      starting[resource] = Math.max(starting[resource] ?? 0, amount);
    if (isObject(container) && container['restartPolicy'] === 'Always') running = during;
  }
  for (const container of listAt(spec, 'containers')) running = plus(running, containerNeeds(container));
  for (const [resource, amount] of Object.entries(running))
    starting[resource] = Math.max(starting[resource] ?? 0, amount);
  starting = plus(starting, amountsOf(objectAt(spec, 'overhead'), 'up'));
  return { ...starting, pods: 1 };
}

/** A limit without a request is a request. */
function containerNeeds(container: unknown): Amounts {
  return {
    ...amountsOf(objectAt(container, 'resources', 'limits'), 'up'),
    ...amountsOf(objectAt(container, 'resources', 'requests'), 'up'),
  };
}
