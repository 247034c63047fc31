import type { Client, ResourceId } from '../kube/client.ts';
import { parseApiVersion } from '../kube/object.ts';
import { StatusError } from '../kube/status-error.ts';
import { nearest } from './near-names.ts';

/** A resource as discovery lists it, with all the names that people use for it. */
export interface NamedResource extends ResourceId {
  readonly singular: string;
  readonly shortNames: readonly string[];
}

interface ApiResourceList {
  resources?: {
    name?: string;
    singularName?: string;
    kind?: string;
    namespaced?: boolean;
    shortNames?: string[];
  }[];
}

interface ApiGroupList {
  groups?: { preferredVersion?: { groupVersion?: string }; versions?: { groupVersion?: string }[] }[];
}

/** All resources of an API in the versions that it prefers, in its own order of groups, core first. */
export async function readResources(client: Client): Promise<NamedResource[]> {
  const [core, groups] = await Promise.all([
    listResources(client, 'v1'),
    client.getJson<ApiGroupList>('/apis'),
  ]);
  const versions = (groups.groups ?? []).map(
    (group) => group.preferredVersion?.groupVersion ?? group.versions?.[0]?.groupVersion ?? '',
  );
  const lists = await Promise.all(
    versions.filter((version) => version !== '').map((version) => listResources(client, version)),
  );
  return [...core, ...lists.flat()];
}

async function listResources(client: Client, apiVersion: string): Promise<NamedResource[]> {
  const { group, version } = parseApiVersion(apiVersion);
  let list: ApiResourceList;
  try {
    list = await client.getJson<ApiResourceList>(group === '' ? `/api/${version}` : `/apis/${apiVersion}`);
  } catch (error) {
    // A group whose own server is away must not hide the others.
    if (error instanceof StatusError && (error.code === 404 || error.code === 503)) return [];
    throw error;
  }
  const out: NamedResource[] = [];
  for (const { name, kind, singularName, namespaced, shortNames } of list.resources ?? []) {
    if (name === undefined || kind === undefined || name.includes('/')) continue;
    out.push({
      group,
      version,
      resource: name,
      kind,
      namespaced: namespaced === true,
      singular: singularName || kind.toLowerCase(),
      shortNames: shortNames ?? [],
    });
  }
  return out;
}

/**
 * The resource that a word of the command line means, as kubectl takes it: `deploy`, `deployment`, `Deployments`,
 * `deployments.apps`, `deployments.v1.apps`. The API's order of groups decides between equal names. Throws an Error with
 * similar names when there is none.
 */
export function resourceNamed(resources: readonly NamedResource[], word: string): ResourceId {
  const lower = word.toLowerCase();
  const dot = lower.indexOf('.');
  const name = dot < 0 ? lower : lower.slice(0, dot);
  const rest = dot < 0 ? undefined : lower.slice(dot + 1);
  const inGroup = resources.filter(
    (resource) =>
      rest === undefined || resource.group === rest || rest === `${resource.version}.${resource.group}`,
  );
  const found =
    inGroup.find((resource) => resource.resource === name || resource.singular === name) ??
    inGroup.find((resource) => resource.kind.toLowerCase() === name) ??
    inGroup.find((resource) => resource.shortNames.includes(name));
  if (found) {
    const { group, version, resource, kind, namespaced } = found;
    return { group, version, resource, kind, namespaced };
  }
  const near = nearest(
    name,
    resources.flatMap((resource) => [resource.resource, resource.singular, ...resource.shortNames]),
  );
  throw new Error(
    `the hub serves no kind named "${word}"${near.length === 0 ? '; see: kubectl api-resources' : `; similar: ${near.join(', ')}`}`,
  );
}
