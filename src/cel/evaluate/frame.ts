import { CelError, Unknown, type Value } from '../values/value.ts';
import { COST_EXCEEDED, EvaluationStopped, MAX_WALKED } from '../values/walking.ts';
import type { Variable } from './scope.ts';

/** Values of variables by name: JSON, or values of this room. A function is asked once for each variable that is used. */
export type Bindings = Readonly<Record<string, unknown>> | ((name: string) => unknown);

/** The state of one evaluation. */
export interface Frame {
  /** Values of variables, by the places that the plan gave them; `undefined` until they are asked for. */
  readonly slots: (Value | undefined)[];
  readonly bindings: Bindings;
  cost: number;
  readonly limit: number;
  iterations: number;
  /** Characters and elements walked through by what is counted as if texts were short and values flat. */
  walked: number;
  readonly interrupted: (() => boolean) | undefined;
  /** Attributes that are not known yet, each as a path. */
  readonly unknowns: readonly AttributePath[] | undefined;
}

/** The value of a variable of the environment, adapted when it is first asked for. */
export function loadVariable(frame: Frame, slot: number, { name, adapter }: Variable): Value {
  const { bindings } = frame;
  const raw =
    typeof bindings === 'function'
      ? bindings(name)
      : Object.hasOwn(bindings, name)
        ? bindings[name]
        : undefined;
  const value = raw === undefined ? new CelError(`no such attribute: ${name}`, -1, true) : adapter(raw);
  frame.slots[slot] = value;
  return value;
}

/** A piece of a compiled expression. */
export type Step = (frame: Frame) => Value;

export type AttributePath = readonly (string | number)[];

export const INTERRUPTED = 'operation interrupted';

/** Between interrupts of a loop; the number that Kubernetes uses. */
const INTERRUPT_EVERY = 100;

export function checkLimits(frame: Frame): void {
  if (frame.cost > frame.limit) throw new EvaluationStopped(COST_EXCEEDED);
}

/** Kubernetes counts `size(text)` and the like as one, however long the text is. This is what keeps them from taking for ever. */
export function countWalked(frame: Frame, characters: number): void {
  frame.walked += characters;
  if (frame.walked > MAX_WALKED) throw new EvaluationStopped(COST_EXCEEDED);
}

export function countIteration(frame: Frame): void {
  if (frame.cost > frame.limit) throw new EvaluationStopped(COST_EXCEEDED);
  if (++frame.iterations % INTERRUPT_EVERY === 0 && frame.interrupted?.() === true) {
    throw new EvaluationStopped(INTERRUPTED);
  }
}

/** Whether an attribute, or something that belongs to it, is declared as unknown. */
export function unknownAt(frame: Frame, path: AttributePath): Unknown | undefined {
  let found: string[] | undefined;
  for (const pattern of frame.unknowns ?? []) {
    const common = Math.min(pattern.length, path.length);
    let same = true;
    for (let index = 0; index < common && same; index++) {
      same = pattern[index] === '*' || pattern[index] === path[index];
    }
    if (same) {
      found ??= [];
      found.push(formatPath(pattern.length < path.length || pattern.includes('*') ? path : pattern));
    }
  }
  return found && new Unknown(found);
}

export function formatPath(path: AttributePath): string {
  return path
    .map((part, index) => (index === 0 ? String(part) : typeof part === 'number' ? `[${part}]` : `.${part}`))
    .join('');
}

export function noSuchOverload(name: string, at: number): CelError {
  return new CelError(`no such overload: ${name}`, at);
}
