/** A type of the API, as discovery tells of it. */
export interface ApiType {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular?: string;
  readonly shortNames?: readonly string[];
  readonly namespaced: boolean;
  readonly verbs?: readonly string[];
}

/**
 * Types that were served by two groups at a time, by plural: the groups in order of preference. Where all matches are among
 * them it does not matter which one was meant.
 */
const EQUIVALENT: Readonly<Record<string, readonly string[]>> = {
  daemonsets: ['apps', 'extensions'],
  deployments: ['apps', 'extensions'],
  events: ['', 'events.k8s.io'],
  ingresses: ['networking.k8s.io', 'extensions'],
  networkpolicies: ['networking.k8s.io', 'extensions'],
  podsecuritypolicies: ['policy', 'extensions'],
  replicasets: ['apps', 'extensions'],
};

/**
 * The type that a name means: plural, singular, kind, short name, or any of them with `.group`. `types` has one version of each,
 * the preferred one.
 */
export function resolveType(name: string, types: readonly ApiType[]): ApiType | { readonly problem: string } {
  const wanted = name.toLowerCase();
  const matches = types.filter((type) => {
    const names = [type.plural, type.singular ?? '', type.kind, ...(type.shortNames ?? [])];
    return names.some((each) => {
      const lower = each.toLowerCase();
      return lower !== '' && (lower === wanted || (type.group !== '' && `${lower}.${type.group}` === wanted));
    });
  });
  const [first] = matches;
  if (!first)
    return {
      problem: `the API has no type ${JSON.stringify(name)}: kubectl api-resources lists what there is`,
    };
  if (matches.length === 1) return first;
  const order = EQUIVALENT[first.plural];
  const rank = (type: ApiType): number =>
    type.plural === first.plural ? (order?.indexOf(type.group) ?? -1) : -1;
  if (matches.every((type) => rank(type) >= 0)) {
    const [best = first] = [...matches].sort((a, b) => rank(a) - rank(b));
    return best;
  }
  const texts = matches.map(({ plural, group }) => (group === '' ? plural : `${plural}.${group}`));
  return { problem: `${JSON.stringify(name)} may mean ${texts.sort().join(', ')}: say which` };
}
