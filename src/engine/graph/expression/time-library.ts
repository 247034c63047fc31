import {
  CelError,
  DYN,
  globalOverload,
  type Library,
  type Macro,
  TIMESTAMP,
  Timestamp,
  type Value,
} from '../../../cel/index.ts';
import { ObjectMap } from '../../../cel/values/map.ts';

/** Hears what is evaluated, for whoever counts it. It has the time, which nothing here has. */
export interface GraphMeter {
  /** Milliseconds that only go forward. */
  now(): number;
  count(what: 'nodeFailed' | 'ignoredCheck' | 'ignored' | 'readyCheck' | 'notReady'): void;
  took(what: 'expression' | 'node', milliseconds: number): void;
  collection(size: number): void;
}

/**
 * The time that the expressions of an instance see. It stands still until one of the instants comes that an expression asked for, so
 * that what is computed from it changes then, and not with every look.
 */
export interface GraphClock {
  /** Milliseconds since the epoch; absent where nobody knows. */
  readonly now: number | undefined;
  /** Instants after that at which expressions are to be evaluated anew. Expressions add to it. */
  readonly wakes: number[];
  /** Units of cost of all that was evaluated with it. Expressions add to it. */
  spent: number;
  readonly meter?: GraphMeter;
}

export function graphClock(now: number | undefined, meter?: GraphMeter): GraphClock {
  return { now, wakes: [], spent: 0, ...(meter && { meter }) };
}

/** The variable that holds it. No author can write it: it is no name of a node, and may be used nowhere. */
export const CLOCK = '__clock';

function now(clock: Value, after: Value): Value {
  const held = clock instanceof ObjectMap ? (clock.raw as unknown as GraphClock) : undefined;
  if (held?.now === undefined) return new CelError('time.now: the time is not known here');
  if (!(after instanceof Timestamp)) return new CelError('time.now: the argument is no timestamp');
  const instant = after.seconds * 1_000 + Math.ceil(after.nanos / 1e6);
  if (instant > held.now) held.wakes.push(instant);
  const seconds = Math.floor(held.now / 1_000);
  return new Timestamp(seconds, (held.now - seconds * 1_000) * 1e6);
}

/** `time.now(instant)`: what the time is, and that it be looked at again at that instant. */
const nowMacro: Macro = {
  name: 'now',
  receiver: true,
  argumentCount: 1,
  expand: (factory, call) => {
    const [after] = call.args;
    if (call.target?.kind !== 'ident' || call.target.name !== 'time' || !after) return undefined;
    return {
      kind: 'call',
      id: factory.nextId(),
      at: call.at,
      function: 'time.@now',
      target: undefined,
      args: [{ kind: 'ident', id: factory.nextId(), at: call.at, name: CLOCK }, after],
    };
  },
};

export const timeLibrary: Library = {
  name: 'time',
  functions: [
    {
      name: 'time.@now',
      overloads: [globalOverload('time_now_timestamp', [DYN, TIMESTAMP], TIMESTAMP, now)],
    },
  ],
  macros: [nowMacro],
};
