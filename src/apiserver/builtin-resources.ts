import { isObject } from '../schema/json.ts';
import { inRelease, strategyFor, withoutPrivileged } from './builtins/index.ts';
import { type Catalogue, minorOf, NEWEST_RELEASE, type Release, servedIn } from './catalogue/index.ts';
import { definitionStrategy, isDefinitionResource } from './crd/index.ts';
import type { Resource, Strategy } from './resource.ts';
import { builtinColumns } from './table/index.ts';

/**
 * The built-in resources of a release with their behaviour, without those of `excludeGroups`. Privileged containers are
 * forbidden unless they are allowed.
 */
export function builtinResources(
  catalogue: Catalogue,
  excludeGroups: readonly string[],
  release: Release = NEWEST_RELEASE,
  allowPrivileged: boolean = true,
): readonly Resource[] {
  const key = JSON.stringify([excludeGroups, release, allowPrivileged]);
  const known = made.get(catalogue) ?? new Map<string, readonly Resource[]>();
  made.set(catalogue, known);
  const resources = known.get(key) ?? makeResources(catalogue, excludeGroups, release, allowPrivileged);
  known.set(key, resources);
  return resources;
}

/** By catalogue and by what is asked of it: servers of one process have them in common, and all that is cached for them. */
const made = new WeakMap<Catalogue, Map<string, readonly Resource[]>>();

function makeResources(
  catalogue: Catalogue,
  excludeGroups: readonly string[],
  release: Release,
  allowPrivileged: boolean,
): readonly Resource[] {
  return servedIn(release, catalogue.resources)
    .filter((resource) => !excludeGroups.includes(resource.group))
    .map((resource): Resource => {
      const printer = builtinColumns(resource.group, resource.resource);
      const usual = strategyFor(resource.group, resource.resource, resource.version);
      const released = inRelease(minorOf(release), resource.group, resource.resource, usual);
      const strategy = allowPrivileged
        ? released
        : withoutPrivileged(resource.group, resource.resource, released);
      return {
        ...resource,
        ...deprecationOf(resource, minorOf(release)),
        columns: printer?.columns ?? resource.columns,
        cells:
          printer?.cells ??
          ((object) => [object.metadata.name ?? '', object.metadata.creationTimestamp ?? null]),
        strategy: withLifecycle(resource, strategy),
      };
    });
}

/** Admission plugins by the resource that tells them what to do: without it they have nothing to go by. */
const PLUGIN_RESOURCES: Readonly<Record<string, string>> = {
  MutatingAdmissionPolicy: 'mutatingadmissionpolicies',
  ValidatingAdmissionPolicy: 'validatingadmissionpolicies',
};

/** The admission plugins that are off because `resources`, those of an older release, do not have what they read. */
export function pluginsWithoutResource(resources: readonly Resource[]): string[] {
  const served = new Set(resources.map(({ resource }) => resource));
  return Object.keys(PLUGIN_RESOURCES).filter((name) => !served.has(PLUGIN_RESOURCES[name] ?? ''));
}

/** What requests for kinds are told that have been deprecated since a release, by its minor number. */
const DEPRECATED: Readonly<Record<string, { readonly since: number; readonly text: string }>> = {
  componentstatuses: { since: 19, text: 'v1 ComponentStatus is deprecated in v1.19+' },
  endpoints: {
    since: 33,
    text: 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
  },
};

function deprecationOf(
  { group, resource }: { group: string; resource: string },
  minor: number,
): { deprecation?: string } {
  const found = group === '' ? DEPRECATED[resource] : undefined;
  return found !== undefined && minor >= found.since ? { deprecation: found.text } : {};
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
