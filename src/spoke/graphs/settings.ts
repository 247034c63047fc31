import type { GraphsOptions } from './graphs.ts';
import { isProcessFlag, parted, timeOf } from './process-flags.ts';

/** What whoever runs the engine may choose. */
export type GraphSettings = Omit<GraphsOptions, 'client' | 'version' | 'cluster'>;

interface Setting {
  /** As kro calls its flag, without the dashes. */
  readonly name: string;
  readonly byDefault: string;
  readonly help: string;
  /** `undefined` where the text is none of its values. */
  readonly read: (text: string) => GraphSettings | undefined;
}

function truth(of: (value: boolean) => GraphSettings): Setting['read'] {
  return (text) => (text === 'true' || text === 'false' ? of(text === 'true') : undefined);
}

function count(least: number, of: (value: number) => GraphSettings): Setting['read'] {
  return (text) => (/^\d{1,9}$/.test(text) && Number(text) >= least ? of(Number(text)) : undefined);
}

function time(of: (milliseconds: number) => GraphSettings | undefined): Setting['read'] {
  return (text) => {
    const milliseconds = timeOf(text);
    return milliseconds === undefined ? undefined : of(milliseconds);
  };
}

const GATES: Readonly<Record<string, (value: boolean) => GraphSettings>> = {
  InstanceConditionEvents: (conditionEvents) => ({ conditionEvents }),
  InstanceConditionMetrics: (conditionMetrics) => ({ conditionMetrics }),
  CELOmitFunction: (omit) => ({ omit }),
  DynamicTemplateKeys: (dynamicKeys) => ({ dynamicKeys }),
  GraphKind: (graphObjects) => ({ graphObjects }),
};

function gates(text: string): GraphSettings | undefined {
  let settings: GraphSettings = {};
  for (const item of text.split(',')) {
    const [name = '', value = 'true'] = item.split('=');
    const of = GATES[name];
    if (!of || (value !== 'true' && value !== 'false')) return undefined;
    settings = { ...settings, ...of(value === 'true') };
  }
  return settings;
}

/** All settings, in the order in which they are documented. */
export const GRAPH_SETTINGS: readonly Setting[] = [
  {
    name: 'allow-crd-deletion',
    byDefault: 'false',
    help: 'deleting a definition deletes its kind, and so all instances',
    read: truth((allowKindDeletion) => ({ allowKindDeletion })),
  },
  {
    name: 'dynamic-controller-concurrent-reconciles',
    byDefault: '8',
    help: 'instances looked after at the same time',
    read: count(1, (instanceConcurrency) => ({ instanceConcurrency })),
  },
  {
    name: 'graph-concurrent-reconciles',
    byDefault: '1',
    help: 'objects of the kind Graph looked after at the same time',
    read: count(1, (graphConcurrency) => ({ graphConcurrency })),
  },
  {
    name: 'resource-graph-definition-concurrent-reconciles',
    byDefault: '1',
    help: 'definitions looked after at the same time',
    read: count(1, (definitionConcurrency) => ({ definitionConcurrency })),
  },
  {
    name: 'apply-concurrency',
    byDefault: '20',
    help: 'objects of one instance written at the same time',
    read: count(1, (applyConcurrency) => ({ applyConcurrency })),
  },
  {
    name: 'cel-cost-limit',
    byDefault: '0',
    help: 'cost of one expression; 0 is what Kubernetes grants',
    read: count(0, (costLimit) => (costLimit === 0 ? {} : { costLimit })),
  },
  {
    name: 'client-qps',
    byDefault: '0',
    help: 'requests to the API in a second; 0 is as many as there are',
    read: count(0, (requestsPerSecond) => (requestsPerSecond === 0 ? {} : { requestsPerSecond })),
  },
  {
    name: 'client-burst',
    byDefault: '150',
    help: 'requests at once after a rest, where there is a limit',
    read: count(1, (requestBurst) => ({ requestBurst })),
  },
  {
    name: 'dynamic-controller-rate-limiter-min-delay',
    byDefault: '200ms',
    help: 'pause after a first failure, doubled with each one that follows',
    read: time((firstRetryMs) => (firstRetryMs === 0 ? undefined : { firstRetryMs })),
  },
  {
    name: 'dynamic-controller-rate-limiter-max-delay',
    byDefault: '30s',
    help: 'longest pause after failures',
    read: time((longestRetryMs) => (longestRetryMs === 0 ? undefined : { longestRetryMs })),
  },
  {
    name: 'dynamic-controller-default-resync-period',
    byDefault: '0',
    help: 'seconds after which all instances are looked at again; 0 is never, since watches tell',
    read: time((resyncMs) => (resyncMs === 0 ? {} : { resyncMs })),
  },
  {
    name: 'instance-requeue-interval',
    byDefault: '0',
    help: 'after which an instance that waits is looked at again; 0 is never, since watches tell',
    read: time((requeueMs) => (requeueMs === 0 ? {} : { requeueMs })),
  },
  {
    name: 'rgd-progress-requeue-delay',
    byDefault: '1s',
    help: 'after which a definition that waits for its revision is looked at again',
    read: time((progressMs) => (progressMs === 0 ? undefined : { progressMs })),
  },
  {
    name: 'rgd-max-collection-size',
    byDefault: '1000',
    help: 'objects of one collection',
    read: count(1, (maxCollectionSize) => ({ maxCollectionSize })),
  },
  {
    name: 'rgd-max-collection-dimension-size',
    byDefault: '10',
    help: 'lists that one forEach goes through',
    read: count(1, (maxDimensions) => ({ maxDimensions })),
  },
  {
    name: 'rgd-max-graph-revisions',
    byDefault: '5',
    help: 'revisions of a definition that are kept',
    read: count(1, (keptRevisions) => ({ keptRevisions })),
  },
  {
    name: 'feature-gates',
    byDefault: '',
    help: `of ${Object.keys(GATES).join(', ')}, those that are open; GraphKind=false closes the one that is`,
    read: (text) => (text === '' ? {} : gates(text)),
  },
  {
    name: 'label-prefixes',
    byDefault: 'kro.run',
    help: 'kro.run, or both: labels also begin with internal.kro.run/',
    read: (text) => (text === 'kro.run' ? {} : text === 'both' ? { bothPrefixes: true } : undefined),
  },
];

/** Where settings stand for processes that nobody gives options to, such as members of a fleet: `name=value`, between spaces. */
export const GRAPH_SETTINGS_VARIABLE = 'ATOLL_GRAPHS';

/** The settings of an environment, and after them those of the options. */
export function graphTexts(
  environment: Readonly<Record<string, string | undefined>>,
  options: readonly string[] = [],
): readonly string[] {
  const texts = (environment[GRAPH_SETTINGS_VARIABLE] ?? '').split(/\s+/).filter((text) => text !== '');
  return [...texts, ...options];
}

/** The settings of an environment, and over them those of the options. Throws an Error that says what would be right. */
export function graphSettingsOf(
  environment: Readonly<Record<string, string | undefined>>,
  options: readonly string[] = [],
): GraphSettings {
  return graphSettings(graphTexts(environment, options));
}

/** Reads `name=value`. Throws an Error that says what would be right. */
export function graphSettings(texts: readonly string[]): GraphSettings {
  let settings: GraphSettings = {};
  for (const text of texts) {
    const { name, value } = parted(text);
    const setting = GRAPH_SETTINGS.find((item) => item.name === name);
    if (!setting && isProcessFlag(name)) continue;
    if (!setting)
      throw new Error(
        `${text}: there is no setting ${JSON.stringify(name)} of graphs; there are ${GRAPH_SETTINGS.map((item) => item.name).join(', ')}`,
      );
    const found = value === undefined ? undefined : setting.read(value);
    if (!found)
      throw new Error(`${text}: ${setting.help}, such as ${name}=${setting.byDefault || 'CELOmitFunction'}`);
    settings = { ...settings, ...found };
  }
  return settings;
}
