import { formatApiVersion } from '../../kube/object.ts';
import type { Resource } from '../resource.ts';
import { compareGroups, compareVersions } from './priority.ts';

/** What discovery reads of a resource. */
export type DiscoveredResource = Pick<
  Resource,
  | 'group'
  | 'version'
  | 'storageVersion'
  | 'storageGroup'
  | 'storageVersionHash'
  | 'resource'
  | 'singular'
  | 'kind'
  | 'namespaced'
  | 'verbs'
  | 'shortNames'
  | 'categories'
  | 'custom'
  | 'subresources'
>;

export interface ServedVersion {
  readonly version: string;
  /** `apps/v1`, or `v1` for the core group. */
  readonly groupVersion: string;
  /** By name. */
  readonly resources: readonly DiscoveredResource[];
}

export interface ServedGroup {
  readonly name: string;
  /** The preferred one first. */
  readonly versions: readonly ServedVersion[];
}

/** Groups and versions in the order in which clients are to prefer them. */
export function groupResources(resources: readonly DiscoveredResource[]): ServedGroup[] {
  const groups = new Map<string, Map<string, DiscoveredResource[]>>();
  for (const resource of resources) {
    const versions = groups.get(resource.group) ?? new Map<string, DiscoveredResource[]>();
    groups.set(resource.group, versions);
    const list = versions.get(resource.version);
    if (list) list.push(resource);
    else versions.set(resource.version, [resource]);
  }
  return [...groups.keys()].sort(compareGroups).map((name) => ({
    name,
    versions: [...(groups.get(name) ?? [])]
      .sort(([a], [b]) => compareVersions(a, b))
      .map(([version, list]) => ({
        version,
        groupVersion: formatApiVersion(name, version),
        resources: list.sort((a, b) => (a.resource < b.resource ? -1 : 1)),
      })),
  }));
}
