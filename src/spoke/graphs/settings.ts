import type { GraphsOptions } from './graphs.ts';

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

function flag(of: (value: boolean) => GraphSettings): Setting['read'] {
  return (text) => (text === 'true' || text === 'false' ? of(text === 'true') : undefined);
}

function count(least: number, of: (value: number) => GraphSettings): Setting['read'] {
  return (text) => (/^\d{1,9}$/.test(text) && Number(text) >= least ? of(Number(text)) : undefined);
}

const GATES: Readonly<Record<string, (value: boolean) => GraphSettings>> = {
  InstanceConditionEvents: (conditionEvents) => ({ conditionEvents }),
  InstanceConditionMetrics: (conditionMetrics) => ({ conditionMetrics }),
  CELOmitFunction: (omit) => ({ omit }),
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
    read: flag((allowKindDeletion) => ({ allowKindDeletion })),
  },
  {
    name: 'dynamic-controller-concurrent-reconciles',
    byDefault: '8',
    help: 'instances looked after at the same time',
    read: count(1, (instanceConcurrency) => ({ instanceConcurrency })),
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
    help: `of ${Object.keys(GATES).join(', ')}, those that are open`,
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

/** The settings of an environment, and over them those of the options. Throws an Error that says what would be right. */
export function graphSettingsOf(
  environment: Readonly<Record<string, string | undefined>>,
  options: readonly string[] = [],
): GraphSettings {
  const texts = (environment[GRAPH_SETTINGS_VARIABLE] ?? '').split(/\s+/).filter((text) => text !== '');
  return graphSettings([...texts, ...options]);
}

/** Reads `name=value`. Throws an Error that says what would be right. */
export function graphSettings(texts: readonly string[]): GraphSettings {
  let settings: GraphSettings = {};
  for (const text of texts) {
    const at = text.indexOf('=');
    const name = at < 0 ? text : text.slice(0, at);
    const setting = GRAPH_SETTINGS.find((item) => item.name === name);
    if (!setting)
      throw new Error(
        `${text}: there is no setting ${JSON.stringify(name)} of graphs; there are ${GRAPH_SETTINGS.map((item) => item.name).join(', ')}`,
      );
    const found = at < 0 ? undefined : setting.read(text.slice(at + 1));
    if (!found)
      throw new Error(`${text}: ${setting.help}, such as ${name}=${setting.byDefault || 'CELOmitFunction'}`);
    settings = { ...settings, ...found };
  }
  return settings;
}
