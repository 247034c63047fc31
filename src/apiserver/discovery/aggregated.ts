import type { JsonObject } from '../../schema/json.ts';
import { minorOf, NEWEST_RELEASE, type Release } from '../catalogue/index.ts';
import type { DiscoveredResource, ServedGroup } from './groups.ts';
import { listedVerbs, subresourcesByName } from './legacy.ts';

export type AggregatedVersion = 'v2' | 'v2beta1';

/** The `Content-Type` by which clients recognise the document: it repeats what they asked for. */
export function aggregatedContentType(type: string, version: AggregatedVersion): string {
  return `${type};g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
}

/** `APIGroupDiscoveryList`, which has the same form in both versions. */
export function aggregatedDiscovery(
  groups: readonly ServedGroup[],
  version: AggregatedVersion,
  release: Release = NEWEST_RELEASE,
): JsonObject {
  // Until then upstream's metadata wrote the time that a group does not have.
  const untimed = minorOf(release) < 34 ? { creationTimestamp: null } : {};
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: `apidiscovery.k8s.io/${version}`,
    metadata: {},
    items: groups.map((group) => ({
      metadata: { ...(group.name === '' ? {} : { name: group.name }), ...untimed },
      versions: group.versions.map((served) => ({
        version: served.version,
        resources: served.resources.map(discoveredResource),
        freshness: 'Current',
      })),
    })),
  };
}

function discoveredResource(resource: DiscoveredResource): JsonObject {
  return {
    resource: resource.resource,
    // An empty group and version are those of the list.
    responseKind: { group: '', version: '', kind: resource.kind },
    scope: resource.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: resource.singular,
    verbs: listedVerbs(resource),
    ...(resource.shortNames.length > 0 ? { shortNames: [...resource.shortNames] } : {}),
    ...(resource.categories.length > 0 ? { categories: [...resource.categories] } : {}),
    ...(resource.subresources.length > 0
      ? {
          subresources: subresourcesByName(resource).map((sub) => ({
            subresource: sub.name,
            responseKind: {
              group: sub.group ?? '',
              version: sub.version ?? '',
              kind: sub.kind ?? resource.kind,
            },
            verbs: listedVerbs({ ...sub, custom: resource.custom }),
          })),
        }
      : {}),
  };
}
