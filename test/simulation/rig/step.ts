import { type Random, seededRandom } from '../../../src/runtime/random.ts';

/**
 * What happens in a history, as data: it can be printed, replayed and cut down to what a failure needs. A step that makes no
 * sense when its turn comes (healing a link that is up) is passed over.
 */
export type Step =
  // People at the hub.
  | { readonly do: 'put'; readonly name: string; readonly group: string; readonly shade: string }
  | { readonly do: 'delete'; readonly name: string }
  | { readonly do: 'propagate'; readonly group: string; readonly tier: string | null }
  | { readonly do: 'stop propagating'; readonly group: string }
  | { readonly do: 'label'; readonly spoke: string; readonly tier: string }
  /** How a group is rolled out and where it is: see {@link Manner}. */
  | { readonly do: 'manner'; readonly group: string; readonly manner: Manner }
  | { readonly do: 'say'; readonly group: string; readonly action: Command }
  /** A second Propagation over a group, which goes before the first or after it; without a priority it is taken away. */
  | { readonly do: 'rival'; readonly group: string; readonly priority: number | null }
  | { readonly do: 'suspend'; readonly group: string; readonly on: boolean }
  | { readonly do: 'edit graph'; readonly edition: string }
  // People on a spoke.
  | { readonly do: 'instance'; readonly spoke: string; readonly name: string; readonly shade: string }
  | { readonly do: 'delete instance'; readonly spoke: string; readonly name: string }
  | {
      readonly do: 'spoil child';
      readonly spoke: string;
      readonly name: string;
      readonly shade: string | null;
    }
  | { readonly do: 'drift'; readonly spoke: string; readonly name: string; readonly shade: string }
  | { readonly do: 'remove on spoke'; readonly spoke: string; readonly name: string }
  | { readonly do: 'remove order'; readonly spoke: string }
  // The network between the hub and a spoke.
  | { readonly do: 'cut'; readonly spoke: string }
  | { readonly do: 'heal'; readonly spoke: string }
  /** Requests arrive and are carried out, answers are lost; or requests are lost. Nobody is told. */
  | { readonly do: 'one way'; readonly spoke: string; readonly lost: 'requests' | 'answers' | 'nothing' }
  | { readonly do: 'delay'; readonly spoke: string; readonly longestMs: number }
  /** Writes arrive twice. */
  | { readonly do: 'duplicate'; readonly spoke: string; readonly on: boolean }
  // Machines.
  | { readonly do: 'crash'; readonly cluster: string; readonly afterCommits: number }
  | { readonly do: 'start'; readonly cluster: string }
  | { readonly do: 'fill disk'; readonly cluster: string; readonly on: boolean }
  | { readonly do: 'back up'; readonly cluster: string }
  | { readonly do: 'restore'; readonly cluster: string }
  | { readonly do: 'jump clock'; readonly byMs: number }
  | { readonly do: 'rest'; readonly ms: number }
  /** Long enough for what waits by itself: soaking, tolerations. */
  | { readonly do: 'wait'; readonly ms: number };

/**
 * `at once` to all that are selected; `staged`: first to one cluster, and after it was well for a while to the others; `approved`: the
 * others only when somebody says so; `graceful` and `direct`: to one cluster of all, to another one when that is lost.
 */
export const MANNERS = ['at once', 'staged', 'approved', 'graceful', 'direct'] as const;
export type Manner = (typeof MANNERS)[number];
export const COMMANDS = ['Approve', 'Pause', 'Resume', 'Promote', 'Rollback', 'Abort', 'Retry'] as const;
export type Command = (typeof COMMANDS)[number];

export const INSTANCES: readonly string[] = ['one', 'two'];
export const GROUPS: readonly string[] = ['g0', 'g1', 'g2'];
export const TIERS: readonly string[] = ['edge', 'core'];
/** Few, so that most of what is done to one finds it there. */
export const NAMES: readonly string[] = ['m0', 'm1', 'm2', 'm3'];

type Weights = readonly (readonly [Step['do'], number])[];

/** How often each kind of step is drawn. */
const WEIGHTS: Weights = [
  ['put', 16],
  ['delete', 5],
  ['propagate', 7],
  ['stop propagating', 3],
  ['label', 5],
  ['drift', 5],
  ['remove on spoke', 3],
  ['remove order', 3],
  ['cut', 4],
  ['heal', 5],
  ['one way', 5],
  ['delay', 4],
  ['duplicate', 3],
  ['crash', 7],
  ['start', 8],
  ['fill disk', 3],
  ['back up', 8],
  ['restore', 5],
  ['jump clock', 2],
  ['rest', 12],
];

/** What some histories are about, besides. */
export const THEMES: Readonly<Record<string, Weights>> = {
  rollouts: [
    ['manner', 8],
    ['say', 5],
    ['put', 14],
    ['wait', 12],
  ],
  failover: [
    ['manner', 8],
    ['cut', 8],
    ['wait', 12],
  ],
  claims: [
    ['rival', 14],
    ['suspend', 5],
    ['wait', 3],
  ],
  graphs: [
    ['instance', 14],
    ['delete instance', 7],
    ['spoil child', 7],
    ['edit graph', 3],
    ['wait', 3],
  ],
};

/** The themes of a seed: about every third history has none, some have several. */
export function themesOf(seed: number): readonly string[] {
  const random = seededRandom(seed * 104_729 + 7);
  return Object.keys(THEMES).filter(() => random.next() < 0.25);
}

/** The history of a seed. The first steps put something on the fleet; what comes then is chance. */
export function historyOf(seed: number, spokes: readonly string[], length: number): Step[] {
  const random = seededRandom(seed * 7919 + 13);
  const themes = themesOf(seed);
  const weights = [...WEIGHTS, ...themes.flatMap((theme) => THEMES[theme] ?? [])];
  const total = weights.reduce((sum, [, weight]) => sum + weight, 0);
  const steps: Step[] = [
    { do: 'put', name: 'm0', group: 'g0', shade: 'first' },
    { do: 'put', name: 'm1', group: 'g1', shade: 'first' },
    { do: 'propagate', group: 'g0', tier: null },
  ];
  while (steps.length < length) {
    steps.push(draw(kindAt(weights, random.next() * total), random, spokes, themes));
  }
  return steps;
}

function kindAt(weights: Weights, point: number): Step['do'] {
  let left = point;
  for (const [kind, weight] of weights) {
    left -= weight;
    if (left < 0) return kind;
  }
  return 'rest';
}

function draw(kind: Step['do'], random: Random, spokes: readonly string[], themes: readonly string[]): Step {
  const spoke = pick(random, spokes);
  const cluster = random.next() < 0.5 ? 'hub' : spoke;
  const name = pick(random, NAMES);
  const group = pick(random, GROUPS);
  const tier = pick(random, TIERS);
  const shade = `c${Math.floor(random.next() * 1000)}`;
  const on = random.next() < 0.5;
  switch (kind) {
    case 'put':
      return { do: kind, name, group, shade };
    case 'delete':
      return { do: kind, name };
    case 'propagate':
      return { do: kind, group, tier: on ? tier : null };
    case 'stop propagating':
      return { do: kind, group };
    case 'manner': {
      const known = MANNERS.filter((manner) => themes.includes(themeOf(manner)) || manner === 'at once');
      return { do: kind, group, manner: pick(random, known) };
    }
    case 'say':
      return { do: kind, group, action: pick(random, COMMANDS) };
    case 'rival':
      return { do: kind, group, priority: pick(random, [5, -5, null]) };
    case 'suspend':
      return { do: kind, group, on };
    case 'edit graph':
      return { do: kind, edition: shade };
    case 'instance':
      return { do: kind, spoke, name: pick(random, INSTANCES), shade };
    case 'delete instance':
      return { do: kind, spoke, name: pick(random, INSTANCES) };
    case 'spoil child':
      return { do: kind, spoke, name: pick(random, INSTANCES), shade: on ? shade : null };
    case 'wait':
      return { do: kind, ms: 5_000 + Math.floor(random.next() * 45_000) };
    case 'label':
      return { do: kind, spoke, tier };
    case 'drift':
      return { do: kind, spoke, name, shade };
    case 'remove on spoke':
      return { do: kind, spoke, name };
    case 'remove order':
    case 'cut':
    case 'heal':
      return { do: kind, spoke };
    case 'one way':
      return { do: kind, spoke, lost: pick(random, ['requests', 'answers', 'nothing', 'nothing']) };
    case 'delay':
      return { do: kind, spoke, longestMs: Math.floor(random.next() * 3) * 400 };
    case 'duplicate':
    case 'fill disk':
      return kind === 'duplicate' ? { do: kind, spoke, on } : { do: kind, cluster, on };
    case 'crash':
      return { do: kind, cluster, afterCommits: Math.floor(random.next() ** 2 * 12) };
    case 'start':
    case 'back up':
    case 'restore':
      return { do: kind, cluster };
    case 'jump clock':
      return { do: kind, byMs: Math.floor((random.next() - 0.5) * 7_200_000) };
    case 'rest':
      return { do: kind, ms: Math.floor(random.next() ** 2 * 8_000) };
  }
}

function themeOf(manner: Manner): string {
  return manner === 'staged' || manner === 'approved' ? 'rollouts' : 'failover';
}

function pick<T>(random: Random, items: readonly T[]): T {
  const item = items[Math.floor(random.next() * items.length)];
  if (item === undefined) throw new Error('nothing to pick from');
  return item;
}

export function stepText(step: Step): string {
  const { do: what, ...rest } = step;
  const words = Object.entries(rest).map(([key, value]) => `${key}=${String(value)}`);
  return [what, ...words].join(' ');
}
