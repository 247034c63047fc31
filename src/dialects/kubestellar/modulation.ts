import type { Modulation } from './types.ts';

const FLAGS = ['createOnly', 'wantSingletonReportedState', 'wantMultiWECReportedState'] as const;

/** What several clauses say of one object: flags are ORed, collectors united and sorted. What is not asked for is absent. */
export function combineModulations(all: readonly Modulation[]): Modulation {
  const collectors = [...new Set(all.flatMap(({ statusCollectors }) => statusCollectors ?? []))].sort();
  return {
    ...Object.fromEntries(
      FLAGS.flatMap((flag) => (all.some((one) => one[flag] === true) ? [[flag, true]] : [])),
    ),
    ...(collectors.length === 0 ? {} : { statusCollectors: collectors }),
  };
}
