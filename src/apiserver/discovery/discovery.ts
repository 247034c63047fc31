import { createHash } from 'node:crypto';
import type { Response } from '../../kube/exchange.ts';
import { failure } from '../../kube/status-error.ts';
import type { JsonObject } from '../../schema/json.ts';
import { yamlText } from '../../schema/yaml-text.ts';
import type { Release } from '../catalogue/index.ts';
import { encodeProtobuf, PROTOBUF } from '../protobuf/index.ts';
import { mediaRanges } from './accept.ts';
import { type AggregatedVersion, aggregatedContentType, aggregatedDiscovery } from './aggregated.ts';
import { type DiscoveredResource, groupResources } from './groups.ts';
import { apiGroup, apiGroupList, apiResourceList, apiVersions } from './legacy.ts';

export interface Discovery {
  /** The answer to a GET, or `undefined` when the path is no discovery document of this server. */
  respond(path: string, accept: string | undefined, ifNoneMatch: string | undefined): Response | undefined;
  /** Whether a path is that of a document. */
  has(path: string): boolean;
  /** Paths of all documents, for the list at `/`. */
  readonly paths: readonly string[];
}

interface Form {
  readonly format: keyof typeof TYPES;
  /** Of the aggregated document. */
  readonly version?: AggregatedVersion;
}

interface Document {
  readonly make: () => JsonObject;
  /** For `/api` and `/apis`: the aggregated form. */
  readonly aggregated?: (version: AggregatedVersion) => JsonObject;
}

interface Rendered {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  readonly etag?: string;
}

const OFFERED = 'application/json, application/yaml, application/vnd.kubernetes.protobuf';

/** `serverAddress` is `host:port` as clients inside the cluster reach it. */
export function createDiscovery(
  resources: readonly DiscoveredResource[],
  serverAddress: string,
  release?: Release,
): Discovery {
  const groups = groupResources(resources);
  const documents = new Map<string, Document>();
  const named = groups.filter((group) => group.name !== '');
  documents.set('/api', {
    make: () => apiVersions(groups, serverAddress),
    aggregated: (version) =>
      aggregatedDiscovery(
        groups.filter((group) => group.name === ''),
        version,
        release,
      ),
  });
  documents.set('/apis', {
    make: () => apiGroupList(groups),
    aggregated: (version) => aggregatedDiscovery(named, version, release),
  });
  for (const group of groups) {
    if (group.name !== '') documents.set(`/apis/${group.name}`, { make: () => apiGroup(group) });
    for (const version of group.versions) {
      const prefix = group.name === '' ? '/api' : '/apis';
      documents.set(`${prefix}/${version.groupVersion}`, { make: () => apiResourceList(group, version) });
    }
  }
  const rendered = new Map<string, Rendered>();

  return {
    paths: [...documents.keys()],
    has: (path) => documents.has(keyOf(path)),
    respond(path, accept, ifNoneMatch): Response | undefined {
      const key = keyOf(path);
      const document = documents.get(key);
      if (!document) return undefined;
      // With a slash behind, the list of groups has the old form only.
      const form = chooseForm(accept, document.aggregated !== undefined && path !== '/apis/');
      if (form === undefined) return notAcceptable();
      const cacheKey = `${form.format} ${form.version ?? ''} ${key}`;
      const answer = rendered.get(cacheKey) ?? render(document, form);
      rendered.set(cacheKey, answer);
      if (answer.etag !== undefined && matchesETag(ifNoneMatch, answer.etag)) {
        return { status: 304, headers: answer.headers, body: new Uint8Array() };
      }
      return { status: 200, headers: answer.headers, body: answer.body };
    },
  };
}

function keyOf(path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : path;
}

/**
 * The form that is asked for. The aggregated one of the two root documents comes before any other, wherever it stands; of the
 * rest it is the first that can be had, and an unknown view can not.
 */
function chooseForm(accept: string | undefined, aggregated: boolean): Form | undefined {
  const ranges = mediaRanges(accept);
  if (aggregated)
    for (const { type, parameters } of ranges) {
      const { g, v, as } = parameters;
      if (g !== 'apidiscovery.k8s.io' || as !== 'APIGroupDiscoveryList') continue;
      const format = formatOf(type);
      if (format !== undefined && (v === 'v2' || v === 'v2beta1')) return { format, version: v };
    }
  for (const { type, parameters } of ranges) {
    if (['as', 'g', 'v'].some((name) => Object.hasOwn(parameters, name))) continue;
    const format = formatOf(type);
    if (format !== undefined) return { format };
  }
  return undefined;
}

function formatOf(type: string): Form['format'] | undefined {
  switch (type) {
    case 'application/json':
    case 'application/*':
    case '*/*':
      return 'json';
    case 'application/yaml':
      return 'yaml';
    case PROTOBUF:
      return 'protobuf';
    default:
      return undefined;
  }
}

function render(document: Document, { format, version }: Form): Rendered {
  if (version !== undefined && document.aggregated) {
    const value = document.aggregated(version);
    const etag = `"${createHash('sha512').update(JSON.stringify(value)).digest('hex').toUpperCase()}"`;
    const headers = {
      'content-type': aggregatedContentType(TYPES[format], version),
      'cache-control': 'public',
      vary: 'Accept',
      etag,
    };
    return { headers, body: encoded(format, value), etag };
  }
  return {
    headers: { 'content-type': TYPES[format], 'cache-control': 'no-cache, private' },
    body: encoded(format, document.make()),
  };
}

function encoded(format: Form['format'], value: JsonObject): Uint8Array {
  if (format === 'protobuf') return encodeProtobuf(value);
  return Buffer.from(format === 'json' ? JSON.stringify(value) : yamlText(value));
}

const TYPES = { json: 'application/json', yaml: 'application/yaml', protobuf: PROTOBUF };

/** RFC 9110: a list of tags or `*`; the weak form is equal for this comparison. */
export function matchesETag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch.split(',').some((tag) => {
    const text = tag.trim();
    return text === '*' || text === etag || text === `W/${etag}`;
  });
}

function notAcceptable(): Response {
  const { status } = failure(406, 'NotAcceptable', `only the following media types are accepted: ${OFFERED}`);
  return {
    status: 406,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-cache, private' },
    body: Buffer.from(JSON.stringify(status)),
  };
}
