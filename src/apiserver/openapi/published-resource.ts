import type { Catalogue } from '../catalogue/index.ts';
import type { DiscoveredResource } from '../discovery/index.ts';
import type { Resource } from '../resource.ts';

/** What the documents need to know of a resource. */
export type PublishedResource = DiscoveredResource &
  Pick<Resource, 'custom' | 'type' | 'listKind'> & {
    readonly strategy?: Pick<Resource['strategy'], 'returnsDeleted' | 'fieldLabelNames'>;
  };

export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** Names of definitions that every document leans on. */
export const META = {
  apiGroup: 'io.k8s.apimachinery.pkg.apis.meta.v1.APIGroup',
  apiGroupList: 'io.k8s.apimachinery.pkg.apis.meta.v1.APIGroupList',
  apiResourceList: 'io.k8s.apimachinery.pkg.apis.meta.v1.APIResourceList',
  apiVersions: 'io.k8s.apimachinery.pkg.apis.meta.v1.APIVersions',
  deleteOptions: 'io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions',
  listMeta: 'io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta',
  objectMeta: 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta',
  patch: 'io.k8s.apimachinery.pkg.apis.meta.v1.Patch',
  status: 'io.k8s.apimachinery.pkg.apis.meta.v1.Status',
  version: 'io.k8s.apimachinery.pkg.version.Info',
  watchEvent: 'io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent',
} as const;

/** The definition of a custom kind: its group reversed, version, kind (`com.example.v1.Widget`). */
export function customDefinitionName(group: string, version: string, kind: string): string {
  return [...group.split('.').reverse(), version, kind].join('.');
}

/** The definition of a body's kind, or `undefined` when it has none (options of streaming subresources). */
export function definitionNameOf(
  resource: PublishedResource,
  gvk: GroupVersionKind,
  catalogue: Catalogue,
): string | undefined {
  const own = gvk.group === resource.group && gvk.version === resource.version;
  if (resource.custom && own) return customDefinitionName(gvk.group, gvk.version, gvk.kind);
  return catalogue.definitionName(gvk.group, gvk.version, gvk.kind);
}
