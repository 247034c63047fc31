import type { KubernetesVersion } from '../../cel/index.ts';
import type { CatalogueResource, Introduced } from './catalogue.ts';

/** A release of Kubernetes whose resources can be served: `1.32`. */
export type Release = KubernetesVersion;

export const RELEASES: readonly Release[] = [
  '1.28',
  '1.29',
  '1.30',
  '1.31',
  '1.32',
  '1.33',
  '1.34',
  '1.35',
  '1.36',
];

/** The release that the catalogue is of, schemas included. */
export const NEWEST_RELEASE: Release = '1.36';

/** 32 of 1.32. */
export function minorOf(release: Release): number {
  return Number(release.slice('1.'.length));
}

/** What a release had already. Schemas and columns are those of the newest in any. */
export function servedIn(
  release: Release,
  resources: readonly CatalogueResource[],
): readonly CatalogueResource[] {
  const minor = minorOf(release);
  const served = ({ since }: Introduced): boolean => since === undefined || since <= minor;
  return resources
    .filter(served)
    .map((resource) =>
      resource.subresources.every(served)
        ? resource
        : { ...resource, subresources: resource.subresources.filter(served) },
    );
}
