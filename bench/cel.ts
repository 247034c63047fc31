import { celEnv, parse as parseBufbuild, plan } from '@bufbuild/cel';
import { Environment as PeerEnvironment } from '@marcbachmann/cel-js';
import { createEnvironment, DYN, type Environment, schemaType } from '../src/cel/index.ts';
import type { Benchmark, BenchmarkContext, Measurement } from './measure.ts';

/** Expressions a second: parsed, checked, evaluated, beside other libraries in the same run and a rule written by hand. */
export const celBenchmark: Benchmark = {
  name: 'cel',
  description:
    'a rule over a custom resource, a walk over ten items, a pattern; on one core, beside other libraries',
  run: (context) => Promise.resolve(run(context)),
};

const RULE = "self.replicas <= self.maxReplicas && self.name.startsWith('a')";
const WALK = "self.items.all(item, item.weight > 0 && item.name != '')";
const PATTERN = "has(self.name) && self.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')";

interface Sample {
  readonly name: string;
  readonly replicas: number;
  readonly maxReplicas: number;
  readonly items: readonly { readonly name: string; readonly weight: number }[];
}

function run(context: BenchmarkContext): readonly Measurement[] {
  const env = environment();
  const self: Sample = {
    name: 'a-name',
    replicas: 1 + (context.seed % 2),
    maxReplicas: 3,
    items: Array.from({ length: 10 }, (_, index) => ({ name: `item-${index}`, weight: index + 1 })),
  };
  const duration = 500 * context.scale;
  const peers = [bufbuild(), marcbachmann()];

  /** One line for each peer that can do it. They take turns, and the best turn of each counts: others use this machine. */
  function compare(
    name: string,
    ours: () => boolean,
    theirs: (peer: Peer) => (() => boolean) | undefined,
  ): Measurement[] {
    context.progress(name);
    const works = [ours, ...peers.map(theirs)];
    const best = works.map(() => 0);
    for (let turn = 0; turn < TURNS; turn++) {
      for (const [index, work] of works.entries()) {
        if (work) best[index] = Math.max(best[index] ?? 0, perSecond(duration / TURNS, work));
      }
    }
    const [value = 0, ...rates] = best;
    return peers.flatMap((peer, index) => {
      const rate = rates[index] ?? 0;
      return rate === 0 ? [] : [{ name, value, unit: 'requests/s', floor: { name: peer.name, value: rate } }];
    });
  }
  function evaluation(name: string, expression: string): Measurement[] {
    const { program, issues } = env.compile(expression);
    if (!program) throw new Error(`${expression}: ${issues[0]?.message}`);
    return compare(
      `evaluate ${name}`,
      () => program.evaluate({ self }).value === true,
      (peer) => peer.evaluator(expression, self),
    );
  }

  const { program } = env.compile(RULE);
  if (!program) throw new Error('the rule does not compile');
  const byHand = perSecond(duration, () => handWritten(self));
  const rule = perSecond(duration, () => program.evaluate({ self }).value === true);
  return [
    {
      name: 'evaluate a rule',
      value: rule,
      unit: 'requests/s',
      floor: { name: 'by hand', value: byHand },
      aim: 1_000_000,
    },
    ...evaluation('a rule', RULE),
    ...evaluation('a walk over ten items', WALK),
    ...evaluation('a pattern', PATTERN),
    ...compare(
      'parse a rule',
      () => env.parse(RULE).ast !== undefined,
      (peer) => peer.parser(RULE),
    ),
    ...compare(
      'parse and check a rule',
      () => env.check(RULE).checked !== undefined,
      (peer) => peer.checker?.(RULE),
    ),
    ...compare(
      'compile a rule and evaluate it once',
      () => env.compile(RULE).program?.evaluate({ self }).value === true,
      (peer) => peer.once(RULE, self),
    ),
  ];
}

/** Another library, at its fastest: whatever can be made beforehand is. */
interface Peer {
  readonly name: string;
  readonly parser: (expression: string) => () => boolean;
  /** Absent where the library has no checker. */
  readonly checker?: (expression: string) => () => boolean;
  /** From text to result, where some do on the first evaluation what others do before it. */
  readonly once: (expression: string, self: Sample) => () => boolean;
  readonly evaluator: (expression: string, self: Sample) => () => boolean;
}

function bufbuild(): Peer {
  const env = celEnv();
  return {
    name: '@bufbuild/cel',
    parser: (expression) => () => parseBufbuild(expression).expr !== undefined,
    once: (expression, self) => () => plan(env, parseBufbuild(expression))({ self: self as never }) === true,
    evaluator: (expression, self) => {
      const evaluate = plan(env, parseBufbuild(expression));
      const bindings = { self: self as never };
      return () => evaluate(bindings) === true;
    },
  };
}

function marcbachmann(): Peer {
  const env = new PeerEnvironment();
  env.registerVariable('self', {
    schema: {
      name: 'string',
      replicas: 'int',
      maxReplicas: 'int',
      items: 'list<map<string, dyn>>',
    },
  });
  const dynamic = new PeerEnvironment({ unlistedVariablesAreDyn: true });
  return {
    name: '@marcbachmann/cel-js',
    parser: (expression) => () => typeof env.parse(expression) === 'function',
    checker: (expression) => () => env.check(expression).valid,
    once: (expression, self) => () => dynamic.parse(expression)({ self }) === true,
    // Numbers in hosts' data are doubles to it.
    evaluator: (expression, self) => {
      const evaluate = dynamic.parse(expression);
      return () => evaluate({ self }) === true;
    },
  };
}

function handWritten(self: Sample): boolean {
  return self.replicas <= self.maxReplicas && self.name.startsWith('a');
}

function environment(): Environment {
  const type = schemaType(
    {
      resolve: () => undefined,
      schema: {
        type: 'object',
        properties: {
          name: { type: 'string', maxLength: 63 },
          replicas: { type: 'integer' },
          maxReplicas: { type: 'integer' },
          items: {
            type: 'array',
            maxItems: 100,
            items: {
              type: 'object',
              properties: { name: { type: 'string', maxLength: 63 }, weight: { type: 'integer' } },
            },
          },
        },
      },
    },
    { name: 'Widget' },
  );
  return createEnvironment({ variables: { self: type ?? DYN } });
}

const BATCH = 200;
const TURNS = 8;

/** How often a second `work` gets done, after a warm-up of a quarter of the time. */
function perSecond(duration: number, work: () => boolean): number {
  const during = (milliseconds: number): number => {
    const began = performance.now();
    let done = 0;
    while (performance.now() - began < milliseconds) {
      for (let index = 0; index < BATCH; index++) if (!work()) throw new Error('the work failed');
      done += BATCH;
    }
    return (done / (performance.now() - began)) * 1000;
  };
  during(duration / 4);
  return during(duration);
}
