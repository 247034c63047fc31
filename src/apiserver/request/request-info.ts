import { badRequest } from '../../kube/status-error.ts';
import { flag } from './query-values.ts';

/** What a request asks for, read from its method and path alone; authorization, audit and the handlers all work from it. */
export interface RequestInfo {
  /** The logical cluster that the path's `/clusters/<name>` prefix names; `root` without one. */
  readonly cluster: string;
  /** Whether it is about what other logical clusters have of this one's API: `/consumers` before the rest of the path. */
  readonly consumers: boolean;
  /** Whether the request addresses a resource below `/api/v1` or `/apis/<group>/<version>`. */
  readonly isResourceRequest: boolean;
  /** The decoded path without the cluster prefix and the query. */
  readonly path: string;
  /** Kubernetes' verb for resources (`list`, `deletecollection` …), the lower-case HTTP method otherwise. */
  readonly verb: string;
  /** HTTP method, upper case. */
  readonly method: string;
  /** `api` or `apis` for resource requests. */
  readonly apiPrefix: string;
  readonly group: string;
  readonly version: string;
  readonly namespace: string;
  readonly resource: string;
  readonly subresource: string;
  /** From the path, or for collections from a `metadata.name=` field selector. */
  readonly name: string;
  /** Path segments behind namespace, from the resource on. */
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
  readonly labelSelector: string;
  readonly fieldSelector: string;
}

/** Of most requests; never changed. */
const NO_QUERY: URLSearchParams = new URLSearchParams();
/** The logical cluster that paths without a prefix are about. */
export const ROOT_CLUSTER = 'root';
const CLUSTER_NAME = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?:)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const CONSUMERS = '/consumers/';
const MAX_CLUSTER_NAME = 253;
/** In the place of a name: all logical clusters at once. */
export const ALL_CLUSTERS = '*';
/** Subresources of Namespace itself: what follows `namespaces/<name>/` otherwise is a resource inside it. */
const NAMESPACE_SUBRESOURCES: ReadonlySet<string> = new Set(['status', 'finalize']);
const METHOD_VERBS: Readonly<Record<string, string>> = {
  POST: 'create',
  GET: 'get',
  HEAD: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

/** Whether a logical cluster may have this name. */
export function isClusterName(name: string): boolean {
  return name.length <= MAX_CLUSTER_NAME && CLUSTER_NAME.test(name);
}

/** A path below `/clusters/<name>`, or the path itself. Throws 400 for a name that cannot be one. */
export function splitCluster(path: string): { cluster: string; rest: string; prefixed: boolean } {
  if (!path.startsWith('/clusters/')) return { cluster: ROOT_CLUSTER, rest: path, prefixed: false };
  const end = path.slice(10).search(/[/?]/);
  const name = end < 0 ? path.slice(10) : path.slice(10, 10 + end);
  const rest = end < 0 ? '/' : path.slice(10 + end);
  const cluster = decode(name);
  if (cluster !== ALL_CLUSTERS && !isClusterName(cluster))
    throw badRequest(`invalid logical cluster name ${JSON.stringify(cluster)}`);
  return { cluster, rest: rest.startsWith('/') ? rest : `/${rest}`, prefixed: true };
}

function decode(segment: string): string {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch (error) {
    throw badRequest(`invalid URL escape in ${JSON.stringify(segment)}: ${String(error)}`);
  }
}

const DOT_SEGMENT = /(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/i;
/** Readers of URLs drop these, or what follows them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const DROPPED = /[#\u0000-\u001f\u007f]/;

/**
 * Whether a path (with query) is read in one way only: servers and what stands before them differ in what they make of `..`, of a
 * backslash, and of an address in the place of a path.
 */
export function isPlainPath(path: string): boolean {
  const [way = ''] = path.split('?', 1);
  return path.startsWith('/') && !DROPPED.test(path) && !way.includes('\\') && !DOT_SEGMENT.test(way);
}

/**
 * The parts of a decoded path: an escaped slash parts them like any other. Two that follow each other have an empty part between
 * them, which is kept: what it stands for is judged at its place, as other servers do, and is never taken for something else.
 */
function segmentsOf(path: string): string[] {
  const segments = path.split('/');
  if (segments[0] === '') segments.shift();
  while (segments.at(-1) === '') segments.pop();
  return segments;
}

/** Whether a path ends before it says what is watched. Other servers answer that with a bare 500, whoever asks. */
export function endsEarly(path: string): boolean {
  return /^\/(?:api|apis\/[^/]+)\/[^/]+\/(?:watch|proxy)\/*$/.test(path);
}

/** Reads method and path (with query, percent-encoded). Throws 400 for escapes that cannot be decoded. */
export function parseRequestInfo(method: string, target: string): RequestInfo {
  const { cluster, rest: whole } = splitCluster(target);
  const consumers = whole.startsWith(CONSUMERS);
  const rest = consumers ? whole.slice(CONSUMERS.length - 1) : whole;
  const mark = rest.indexOf('?');
  const rawPath = mark < 0 ? rest : rest.slice(0, mark);
  const query = mark < 0 ? NO_QUERY : new URLSearchParams(rest.slice(mark + 1));
  const upper = method.toUpperCase();
  const path = rawPath.includes('%') ? rawPath.split('/').map(decode).join('/') : rawPath;
  const segments = segmentsOf(path);

  const base = {
    cluster,
    consumers,
    path,
    method: upper,
    query,
    labelSelector: '',
    fieldSelector: '',
  };
  const notResource = (): RequestInfo => ({
    ...base,
    isResourceRequest: false,
    verb: upper.toLowerCase(),
    apiPrefix: '',
    group: '',
    version: '',
    namespace: '',
    resource: '',
    subresource: '',
    name: '',
    parts: [],
  });

  const [prefix, ...afterPrefix] = segments;
  if (prefix !== 'api' && prefix !== 'apis') return notResource();
  let current = afterPrefix;
  let group = '';
  if (prefix === 'apis') {
    // `/apis/<group>/<version>` is discovery; a resource needs one more segment.
    if (current.length < 3) return notResource();
    group = current[0] ?? '';
    current = current.slice(1);
  } else if (current.length < 2) return notResource();
  const version = current[0] ?? '';
  current = current.slice(1);

  let verb = METHOD_VERBS[upper] ?? '';
  let special = false;
  if (current.length > 1 && (current[0] === 'watch' || current[0] === 'proxy')) {
    verb = current[0];
    current = current.slice(1);
    special = true;
  }

  let namespace = '';
  if (current[0] === 'namespaces' && current.length > 1) {
    namespace = current[1] ?? '';
    // `namespaces/<name>/<resource>` is inside the namespace; without more, or with its own subresource, it is the object.
    if (current.length > 2 && !NAMESPACE_SUBRESOURCES.has(current[2] ?? '')) current = current.slice(2);
  }
  const parts = current;
  const resource = parts[0] ?? '';
  let name = parts[1] ?? '';
  const subresource = special ? '' : (parts[2] ?? '');

  let labelSelector = '';
  let fieldSelector = '';
  if (name === '') {
    if (verb === 'get') verb = flag(query, 'watch') ? 'watch' : 'list';
    else if (verb === 'delete') verb = 'deletecollection';
  }
  if (verb === 'list' || verb === 'watch' || verb === 'deletecollection') {
    labelSelector = query.get('labelSelector') ?? '';
    fieldSelector = query.get('fieldSelector') ?? '';
    if (name === '' && verb !== 'deletecollection') name = nameOfSelector(fieldSelector);
  }
  return {
    ...base,
    isResourceRequest: true,
    verb,
    apiPrefix: prefix,
    group,
    version,
    namespace,
    resource,
    subresource,
    name,
    parts,
    labelSelector,
    fieldSelector,
  };
}

/** The name that a field selector pins down, so that RBAC rules with resourceNames match collections too. */
function nameOfSelector(fieldSelector: string): string {
  for (const term of fieldSelector.split(',')) {
    const match = /^metadata\.name==?([^=!\\]+)$/.exec(term.trim());
    const name = match?.[1] ?? '';
    if (name !== '' && name !== '.' && name !== '..' && !/[/%]/.test(name)) return name;
  }
  return '';
}
