/**
 * What an API server tells of the resources that it serves: the legacy documents (`/api`, `/apis`, `/apis/<group>`,
 * `/api/v1`, `/apis/<group>/<version>`), which kubectl before 1.26 reads one by one, and the aggregated ones, which hold all
 * in two answers with an ETag.
 *
 * Everything is a pure function of the list of resources; each document is serialised when first asked for and kept.
 */
export { type MediaRange, mediaRanges } from './accept.ts';
export { createDiscovery, type Discovery, matchesETag } from './discovery.ts';
export { type DiscoveredResource, groupResources, type ServedGroup, type ServedVersion } from './groups.ts';
export { compareVersions, servicePriorities } from './priority.ts';
