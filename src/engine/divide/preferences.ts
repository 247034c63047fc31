import { matchesSelector, type Selector, selectorFromObject } from '../../schema/label-selector.ts';
import type { ClusterPreference, DivisionCluster } from './request.ts';

/** What preferences may know of a cluster. */
export interface PreferenceCluster {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

/**
 * Which preference holds for each cluster: the first that means it. Clusters that none means are left out, so that they get
 * nothing; with no preferences at all every cluster weighs the same.
 */
export function preferencesOf(
  preferences: readonly ClusterPreference[] | undefined,
  clusters: readonly PreferenceCluster[],
): { readonly clusters: readonly DivisionCluster[]; readonly problems: readonly string[] } {
  if (preferences === undefined || preferences.length === 0)
    return { clusters: clusters.map(({ name }) => ({ name })), problems: [] };
  const problems: string[] = [];
  const rules = preferences.map((preference, index) => {
    const names = preference.clusterNames && new Set(preference.clusterNames);
    let selector: Selector | undefined;
    if (preference.clusterSelector) {
      const read = selectorFromObject(preference.clusterSelector);
      selector = read.selector;
      for (const { detail } of read.issues) problems.push(`preferences[${index}].clusterSelector: ${detail}`);
    }
    return { preference, names, selector };
  });
  if (problems.length > 0) return { clusters: [], problems };
  const resolved = clusters.flatMap(({ name, labels }): DivisionCluster[] => {
    const rule = rules.find(
      ({ names, selector }) =>
        (names === undefined || names.has(name)) &&
        (selector === undefined || matchesSelector(selector, labels)),
    );
    if (!rule) return [];
    const { weight, minReplicas, maxReplicas, tier } = rule.preference;
    return [
      {
        name,
        ...(weight === undefined ? {} : { weight }),
        ...(minReplicas === undefined ? {} : { minReplicas }),
        ...(maxReplicas === undefined ? {} : { maxReplicas }),
        ...(tier === undefined ? {} : { tier }),
      },
    ];
  });
  return { clusters: resolved, problems };
}
