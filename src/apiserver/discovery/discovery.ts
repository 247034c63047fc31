import { createHash } from 'node:crypto';
import type { Response } from '../../kube/exchange.ts';
import { failure } from '../../kube/status-error.ts';
import type { JsonObject } from '../../schema/json.ts';
import { yamlLibrary } from '../../schema/yaml-library.ts';
import type { Release } from '../catalogue/index.ts';
import { mediaRanges } from './accept.ts';
import { type AggregatedVersion, aggregatedContentType, aggregatedDiscovery } from './aggregated.ts';
import { type DiscoveredResource, groupResources } from './groups.ts';
import { apiGroup, apiGroupList, apiResourceList, apiVersions } from './legacy.ts';

export interface Discovery {
  /** The answer to a GET, or `undefined` when the path is no discovery document of this server. */
  respond(path: string, accept: string | undefined, ifNoneMatch: string | undefined): Response | undefined;
  /** Paths of all documents, for the list at `/`. */
  readonly paths: readonly string[];
}

type Form = 'json' | 'yaml' | AggregatedVersion;

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
    respond(path, accept, ifNoneMatch): Response | undefined {
      const key = path.endsWith('/') ? path.slice(0, -1) : path;
      const document = documents.get(key);
      if (!document) return undefined;
      const form = chooseForm(accept, document.aggregated !== undefined);
      if (form === undefined) return notAcceptable();
      const cacheKey = `${form} ${key}`;
      const answer = rendered.get(cacheKey) ?? render(document, form);
      rendered.set(cacheKey, answer);
      if (answer.etag !== undefined && matchesETag(ifNoneMatch, answer.etag)) {
        return { status: 304, headers: answer.headers, body: new Uint8Array() };
      }
      return { status: 200, headers: answer.headers, body: answer.body };
    },
  };
}

/** The first alternative that can be had; an unknown aggregated version is passed over. */
function chooseForm(accept: string | undefined, aggregated: boolean): Form | undefined {
  for (const { type, parameters } of mediaRanges(accept)) {
    const json = type === 'application/json' || type === '*/*' || type === 'application/*';
    if (parameters.as !== undefined) {
      const { g, v, as } = parameters;
      if (!aggregated) {
        // Only the two root documents have an aggregated form; the others answer in their own.
        if (json) return 'json';
      } else if (json && g === 'apidiscovery.k8s.io' && as === 'APIGroupDiscoveryList') {
        if (v === 'v2' || v === 'v2beta1') return v;
      }
    } else if (json) {
      return 'json';
    } else if (type === 'application/yaml') {
      return 'yaml';
    }
  }
  return undefined;
}

function render(document: Document, form: Form): Rendered {
  if (form === 'v2' || form === 'v2beta1') {
    const body = Buffer.from(JSON.stringify(document.aggregated?.(form)));
    const etag = `"${createHash('sha512').update(body).digest('hex').toUpperCase()}"`;
    const headers = {
      'content-type': aggregatedContentType(form),
      'cache-control': 'public',
      vary: 'Accept',
      etag,
    };
    return { headers, body, etag };
  }
  const value = document.make();
  const text =
    form === 'json'
      ? JSON.stringify(value)
      : yamlLibrary().stringify(value, {
          indentSeq: false,
          sortMapEntries: true,
          lineWidth: 0,
          version: '1.1',
        });
  return {
    headers: {
      'content-type': form === 'json' ? 'application/json' : 'application/yaml',
      'cache-control': 'no-cache, private',
      ...(document.aggregated ? { vary: 'Accept' } : {}),
    },
    body: Buffer.from(text),
  };
}

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
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify(status)),
  };
}
