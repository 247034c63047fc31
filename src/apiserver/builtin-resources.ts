import { isObject } from '../schema/json.ts';
import { strategyFor } from './builtins/index.ts';
import type { Catalogue } from './catalogue/index.ts';
import { definitionStrategy, isDefinitionResource } from './crd/index.ts';
import type { Resource, Strategy } from './resource.ts';
import { builtinColumns } from './table/index.ts';

/** The built-in resources with their behaviour, without those of `excludeGroups`. */
export function builtinResources(catalogue: Catalogue, excludeGroups: readonly string[]): Resource[] {
  return catalogue.resources
    .filter((resource) => !excludeGroups.includes(resource.group))
    .map((resource): Resource => {
      const printer = builtinColumns(resource.group, resource.resource);
      const strategy = strategyFor(resource.group, resource.resource, resource.version);
      return {
        ...resource,
        ...deprecationOf(resource),
        columns: printer?.columns ?? resource.columns,
        cells:
          printer?.cells ??
          ((object) => [object.metadata.name ?? '', object.metadata.creationTimestamp ?? null]),
        strategy: withLifecycle(resource, strategy),
      };
    });
}

function deprecationOf({ group, resource }: { group: string; resource: string }): { deprecation?: string } {
  return group === '' && resource === 'componentstatuses'
    ? { deprecation: 'v1 ComponentStatus is deprecated in v1.19+' }
    : {};
}

/** Kinds whose deletion is more than removing an object, and definitions, which decide what is served. */
function withLifecycle(resource: { group: string; resource: string }, strategy: Strategy): Strategy {
  if (isDefinitionResource(resource)) return definitionStrategy(strategy);
  if (resource.group !== '' || resource.resource !== 'namespaces') return strategy;
  return {
    ...strategy,
    plainDeletion: true,
    prepareForDelete(namespace): void {
      namespace.status = {
        ...(isObject(namespace.status) ? namespace.status : {}),
        phase: 'Terminating',
      };
    },
  };
}
