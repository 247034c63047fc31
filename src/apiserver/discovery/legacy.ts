import { createHash } from 'node:crypto';
import type { JsonObject } from '../../schema/json.ts';
import type { DiscoveredResource, ServedGroup, ServedVersion } from './groups.ts';

/** `GET /api` */
export function apiVersions(groups: readonly ServedGroup[], serverAddress: string): JsonObject {
  const core = groups.find((group) => group.name === '');
  return {
    kind: 'APIVersions',
    versions: core?.versions.map((item) => item.version) ?? [],
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress }],
  };
}

function groupFields(group: ServedGroup): JsonObject {
  const versions = group.versions.map(({ groupVersion, version }) => ({ groupVersion, version }));
  return { name: group.name, versions, preferredVersion: { ...versions[0] } };
}

/** `GET /apis` */
export function apiGroupList(groups: readonly ServedGroup[]): JsonObject {
  return {
    kind: 'APIGroupList',
    apiVersion: 'v1',
    groups: groups.filter((group) => group.name !== '').map(groupFields),
  };
}

/** `GET /apis/<group>` */
export function apiGroup(group: ServedGroup): JsonObject {
  return { kind: 'APIGroup', apiVersion: 'v1', ...groupFields(group) };
}

/** `GET /api/v1` and `GET /apis/<group>/<version>`. The core group's list has no apiVersion, upstream's habit. */
export function apiResourceList(group: ServedGroup, version: ServedVersion): JsonObject {
  return {
    kind: 'APIResourceList',
    ...(group.name === '' ? {} : { apiVersion: 'v1' }),
    groupVersion: version.groupVersion,
    resources: version.resources.flatMap((resource) => [
      apiResource(resource),
      ...subresourcesByName(resource).map((sub) => ({
        name: `${resource.resource}/${sub.name}`,
        singularName: '',
        namespaced: resource.namespaced,
        ...(sub.group !== undefined && sub.version !== undefined
          ? { group: sub.group, version: sub.version }
          : {}),
        kind: sub.kind ?? resource.kind,
        verbs: listedVerbs({ ...sub, custom: resource.custom }),
      })),
    ]),
  };
}

function apiResource(resource: DiscoveredResource): JsonObject {
  const hash = storageVersionHash(resource);
  return {
    name: resource.resource,
    singularName: resource.singular,
    namespaced: resource.namespaced,
    kind: resource.kind,
    verbs: listedVerbs(resource),
    ...(resource.shortNames.length > 0 ? { shortNames: [...resource.shortNames] } : {}),
    ...(resource.categories.length > 0 ? { categories: [...resource.categories] } : {}),
    ...(hash ? { storageVersionHash: hash } : {}),
  };
}

/** Sorted for built-in resources; custom ones have them as upstream's list of theirs has them. */
export function listedVerbs({ verbs, custom }: { verbs: readonly string[]; custom: boolean }): string[] {
  return custom ? [...verbs] : [...verbs].sort();
}

export function subresourcesByName(resource: DiscoveredResource): DiscoveredResource['subresources'] {
  if (resource.custom) return resource.subresources;
  return [...resource.subresources].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Tells clients whether two versions are the same objects. Absent for what is not stored, which cannot be watched. */
function storageVersionHash(resource: DiscoveredResource): string | undefined {
  if (!resource.verbs.includes('watch')) return undefined;
  if (resource.storageVersionHash !== undefined) return resource.storageVersionHash;
  const stored = `${resource.storageGroup ?? resource.group}/${resource.storageVersion}/${resource.kind}`;
  return createHash('sha256').update(stored).digest().subarray(0, 8).toString('base64');
}
