import type { ListOptions, ResourceId, WatchOptions, WriteOptions } from './client.ts';

/**
 * The URL path of a resource: of its collection when `name` is empty. `namespace` '' leaves the namespace out (all
 * namespaces, or cluster-scoped).
 */
export function resourcePath(
  resource: ResourceId,
  namespace: string,
  name: string = '',
  subresource: string = '',
): string {
  let path =
    resource.group === '' ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`;
  if (resource.namespaced && namespace !== '') path += `/namespaces/${segment(namespace)}`;
  path += `/${resource.resource}`;
  if (name !== '') path += `/${segment(name)}`;
  if (subresource !== '') path += `/${subresource}`;
  return path;
}

/** One segment of a path: a name can neither add segments nor climb out (`..`). */
function segment(name: string): string {
  if (name === '.' || name === '..') throw new TypeError(`"${name}" is not a name of an object`);
  return encodeURIComponent(name);
}

export function listQuery(options: ListOptions): string {
  return query({
    labelSelector: options.labelSelector,
    fieldSelector: options.fieldSelector,
    resourceVersion: options.resourceVersion,
    resourceVersionMatch: options.resourceVersionMatch,
    limit: options.limit?.toString(),
    continue: options.continue,
  });
}

export function watchQuery(options: WatchOptions): string {
  return query({
    watch: '1',
    allowWatchBookmarks: 'true',
    labelSelector: options.labelSelector,
    fieldSelector: options.fieldSelector,
    resourceVersion: options.resourceVersion,
    sendInitialEvents: options.sendInitialEvents?.toString(),
    resourceVersionMatch: options.sendInitialEvents === undefined ? undefined : 'NotOlderThan',
    timeoutSeconds: options.timeoutSeconds?.toString(),
  });
}

export function writeQuery(options: WriteOptions & { force?: boolean }): string {
  return query({
    fieldManager: options.fieldManager,
    force: options.force === true ? 'true' : undefined,
    dryRun: options.dryRun === true ? 'All' : undefined,
    fieldValidation: options.fieldValidation,
  });
}

/** `?a=b&c=d`, or nothing. Spaces as `%20`: selectors are percent-decoded by every server, `+` is not by all. */
function query(parameters: Readonly<Record<string, string | undefined>>): string {
  let out = '';
  for (const key in parameters) {
    const value = parameters[key];
    if (value === undefined || value === '') continue;
    out += `${out === '' ? '?' : '&'}${key}=${encodeURIComponent(value)}`;
  }
  return out;
}
