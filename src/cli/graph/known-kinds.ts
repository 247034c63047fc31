import { loadCatalogue } from '../../apiserver/catalogue/index.ts';
import { type SchemaSource, schemaSourceOf, schemaSources } from '../../engine/graph/index.ts';
import { formatApiVersion, type KubeObject } from '../../kube/object.ts';

/** The kinds of Kubernetes itself. */
export function builtInKinds(): SchemaSource {
  const catalogue = loadCatalogue();
  return {
    find: ({ group, version, kind }) => {
      const resource = catalogue.resources.find(
        (item) => item.group === group && item.version === version && item.kind === kind,
      );
      const type = catalogue.typeOf(group, version, kind);
      return resource && type && { type, namespaced: resource.namespaced };
    },
    similar: ({ kind }) =>
      catalogue.resources
        .filter((item) => item.kind.toLowerCase() === kind.toLowerCase())
        .map((item) => `${formatApiVersion(item.group, item.version)} ${item.kind}`),
  };
}

/** The built-in kinds and those of definitions, which come first. */
export function kindsOf(definitions: readonly KubeObject[]): SchemaSource {
  return schemaSources(schemaSourceOf(definitions), builtInKinds());
}

export function isKindDefinition(object: KubeObject): boolean {
  return object.kind === 'CustomResourceDefinition' && object.apiVersion.startsWith('apiextensions.k8s.io/');
}
