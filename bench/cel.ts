import { createEnvironment, DYN, type Environment, schemaType } from '../src/cel/index.ts';
import type { Benchmark, BenchmarkContext, Measurement } from './measure.ts';

/** Expressions a second: parsed, checked, evaluated; a rule in hand-written JavaScript is the floor of its evaluation. */
export const celBenchmark: Benchmark = {
  name: 'cel',
  description: 'a rule over a custom resource, a walk over ten items, a pattern; on one core',
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
  const evaluation = (expression: string): number => {
    context.progress(`evaluates ${expression}`);
    const { program, issues } = env.compile(expression);
    if (!program) throw new Error(`${expression}: ${issues[0]?.message}`);
    return perSecond(duration, () => program.evaluate({ self }).value === true);
  };
  const byHand = perSecond(duration, () => handWritten(self));
  context.progress('parses and compiles');
  return [
    {
      name: 'evaluate a rule',
      value: evaluation(RULE),
      unit: 'requests/s',
      floor: { name: 'by hand', value: byHand },
      aim: 1_000_000,
    },
    { name: 'evaluate a walk over ten items', value: evaluation(WALK), unit: 'requests/s' },
    { name: 'evaluate a pattern', value: evaluation(PATTERN), unit: 'requests/s' },
    {
      name: 'parse a rule',
      value: perSecond(duration, () => env.parse(RULE).ast !== undefined),
      unit: 'requests/s',
    },
    {
      name: 'compile a rule',
      value: perSecond(duration, () => env.compile(RULE).program !== undefined),
      unit: 'requests/s',
    },
  ];
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
