import { createHash } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { Response } from '../../kube/exchange.ts';
import { formatApiVersion } from '../../kube/object.ts';
import { canonicalJson, type JsonObject } from '../../schema/json.ts';
import type { OpenApiSchema } from '../../schema/open-api-schema.ts';
import {
  builtDescriptions,
  type Catalogue,
  type Descriptions,
  minorOf,
  NEWEST_RELEASE,
  type Release,
} from '../catalogue/index.ts';
import { groupResources, matchesETag, mediaRanges } from '../discovery/index.ts';
import { documentV2 } from './document-v2.ts';
import { documentV3 } from './document-v3.ts';
import { encodeDocument } from './gnostic.ts';
import {
  discoveryPath,
  groupPath,
  groupVersionPath,
  jsonPath,
  type PathOperations,
  pathsOf,
  textPath,
} from './operations.ts';
import { type GroupVersionKind, META, type PublishedResource } from './published-resource.ts';
import type { DocumentForm } from './schema-form.ts';

export type { PublishedResource } from './published-resource.ts';

export interface OpenApi {
  /** The answer to a GET below `/openapi`, or `undefined` when there is no such document. */
  respond(
    path: string,
    query: URLSearchParams,
    accept: string | undefined,
    ifNoneMatch: string | undefined,
  ): Response | undefined;
  /** `/openapi/v2` and `/openapi/v3`, for the list at `/`. */
  readonly paths: readonly string[];
}

/** Raised whenever the documents change for the same resources, so that hashes that clients have seen do not match. */
const FORM = 4;

const V3_TYPES = ['application/json'];
/** Clients ask with an `@` in it, but Go cannot parse that in an answer. */
const PROTOBUF_V2 = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';
const V2_FORMS: Readonly<Record<string, 'json' | 'protobuf'>> = {
  'application/json': 'json',
  'application/*': 'json',
  '*/*': 'json',
  [PROTOBUF_V2]: 'protobuf',
  'application/com.github.proto-openapi.spec.v2@v1.0+protobuf': 'protobuf',
};

/** One document of v3: what goes into it, before it is built. */
interface Source {
  /** As in the index: `api/v1`, `apis/apps/v1`, `version`. */
  readonly key: string;
  readonly resources: readonly PublishedResource[];
  readonly paths: () => PathOperations[];
}

export function createOpenApi(
  resources: readonly PublishedResource[],
  catalogue: Catalogue,
  descriptions: Descriptions = builtDescriptions,
  release: Release = NEWEST_RELEASE,
): OpenApi {
  const sources = sourcesOf(resources, catalogue, release);
  const hashes = new Map<string, string>();
  const hashOf = (source: Source): string => {
    const known = hashes.get(source.key);
    if (known !== undefined) return known;
    const hash = hashSource(source, `${release}${catalogue.digest}${descriptions.digest}`);
    hashes.set(source.key, hash);
    return hash;
  };
  // Packed: it is the longest of all, and of interest to few.
  const v2 = new Map<'json' | 'protobuf', Buffer>();

  return {
    paths: ['/openapi/v2', '/openapi/v3', '/openapi/v3/'],
    respond(path, query, accept, ifNoneMatch): Response | undefined {
      if (path === '/openapi/v2') return respondV2(accept, ifNoneMatch);
      if (path === '/openapi/v3') return respondIndex();
      const source = path.startsWith('/openapi/v3/')
        ? sources.get(path.slice('/openapi/v3/'.length))
        : undefined;
      if (source) return respondV3(source, query.get('hash'), accept, ifNoneMatch);
      // Said without words, as upstream does.
      return path.startsWith('/openapi/v3/')
        ? { status: 404, headers: {}, body: new Uint8Array() }
        : undefined;
    },
  };

  function respondV2(accept: string | undefined, ifNoneMatch: string | undefined): Response {
    const range = mediaRanges(accept).find(({ type }) => Object.hasOwn(V2_FORMS, type));
    const form = range && V2_FORMS[range.type];
    if (!range || !form) return notAcceptable();
    const all = createHash('sha512').update(form);
    for (const source of sources.values()) all.update(hashOf(source));
    const etag = `"${all.digest('hex').toUpperCase()}"`;
    const headers = {
      'content-type': form === 'json' ? 'application/json' : PROTOBUF_V2,
      'cache-control': 'no-cache, private',
      etag,
      vary: 'Accept',
    };
    if (matchesETag(ifNoneMatch, etag)) return { status: 304, headers, body: new Uint8Array() };
    let packed = v2.get(form);
    if (packed) return { status: 200, headers, body: gunzipSync(packed) };
    packed = recentOr(etag, () => gzipSync(builtV2(form), { level: 1 }));
    v2.set(form, packed);
    return { status: 200, headers, body: gunzipSync(packed) };
  }

  function builtV2(form: 'json' | 'protobuf'): Buffer {
    const document = documentV2({
      title: 'Kubernetes',
      version: release,
      paths: [...sources.values()].flatMap((source) => source.paths()),
      custom: resources.filter((resource) => resource.custom),
      catalogue,
      form: { release, kindsOf: (kinds) => kinds },
      describe: descriptions.open(),
    });
    return form === 'json' ? Buffer.from(JSON.stringify(document)) : encodeDocument(document);
  }

  /** Whatever form is asked for: there is one. */
  function respondIndex(): Response {
    const paths: JsonObject = {};
    for (const source of sources.values()) {
      // Without the prefix of a logical cluster: clients put their own in front of /openapi/v3.
      paths[source.key] = { serverRelativeURL: `/openapi/v3/${source.key}?hash=${hashOf(source)}` };
    }
    return {
      status: 200,
      // Not JSON by its label: so does Kubernetes, and clients do not look.
      headers: { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-cache, private' },
      body: Buffer.from(JSON.stringify({ paths })),
    };
  }

  function respondV3(
    source: Source,
    asked: string | null,
    accept: string | undefined,
    ifNoneMatch: string | undefined,
  ): Response {
    if (!accepts(accept, V3_TYPES)) return notAcceptable();
    const hash = hashOf(source);
    if (asked !== null && asked !== '' && asked !== hash) {
      // A reference of only a query keeps the path, whatever prefix it was asked under.
      return { status: 301, headers: { location: `?hash=${hash}` }, body: new Uint8Array() };
    }
    const etag = `"${hash}"`;
    const headers = {
      'content-type': 'application/json',
      'cache-control': asked === hash ? 'public, immutable, max-age=31536000' : 'no-cache, private',
      etag,
      vary: 'Accept',
    };
    if (matchesETag(ifNoneMatch, etag)) return { status: 304, headers, body: new Uint8Array() };
    return { status: 200, headers, body: recentOr(hash, () => built(source)) };
  }

  function built(source: Source): Buffer {
    const custom = source.resources.some((resource) => resource.custom);
    const document = documentV3({
      title: custom ? 'Kubernetes CRD Swagger' : 'Kubernetes',
      version: custom ? 'v0.1.0' : release,
      paths: source.paths(),
      custom: source.resources.filter((resource) => resource.custom),
      catalogue,
      form: formOf(source, custom, release),
      describe: descriptions.open(),
    });
    return Buffer.from(JSON.stringify(document));
  }
}

/**
 * Documents that somebody asked for lately, by their hash, which says all that is in them: servers and logical clusters of one
 * process have most in common. They are held weakly, so that nothing is kept for nobody.
 */
const recent = new Map<string, WeakRef<Buffer>>();
const MOST_RECENT = 64;

function recentOr(hash: string, build: () => Buffer): Buffer {
  const known = recent.get(hash)?.deref();
  if (known) return known;
  const body = build();
  recent.delete(hash);
  recent.set(hash, new WeakRef(body));
  for (const oldest of recent.keys()) {
    if (recent.size <= MOST_RECENT) break;
    recent.delete(oldest);
  }
  return body;
}

/** Until then every document told of all kinds that a definition is of. */
const OWN_KINDS_SINCE = 36;

/** Groups that clients of the API have no types of; documents of custom resources tell of the others'. */
const NOT_IN_CLIENTS: ReadonlySet<string> = new Set([
  'admission.k8s.io',
  'apiextensions.k8s.io',
  'apiregistration.k8s.io',
  'imagepolicy.k8s.io',
]);

function formOf(source: Source, custom: boolean, release: Release): DocumentForm {
  const told = (kind: GroupVersionKind): boolean => {
    if (custom) return !NOT_IN_CLIENTS.has(kind.group);
    if (minorOf(release) < OWN_KINDS_SINCE) return true;
    const groupVersion = formatApiVersion(kind.group, kind.version);
    return groupVersion === 'v1' || source.key === `apis/${groupVersion}`;
  };
  return { release, kindsOf: (kinds) => (kinds.length > 1 ? kinds.filter(told) : kinds) };
}

function sourcesOf(
  resources: readonly PublishedResource[],
  catalogue: Catalogue,
  release: Release,
): Map<string, Source> {
  const groups = groupResources(resources);
  const sources: Source[] = [
    {
      key: '.well-known/openid-configuration',
      resources: [],
      paths: () => [
        textPath(
          '/.well-known/openid-configuration/',
          'getServiceAccountIssuerOpenIDConfiguration',
          'WellKnown',
          'application/json',
        ),
      ],
    },
    {
      key: 'openid/v1/jwks',
      resources: [],
      paths: () => [
        textPath(
          '/openid/v1/jwks/',
          'getServiceAccountIssuerOpenIDKeyset',
          'openid',
          'application/jwk-set+json',
        ),
      ],
    },
    {
      key: 'api',
      resources: [],
      paths: () => [discoveryPath('/api/', 'getCoreAPIVersions', 'core', META.apiVersions)],
    },
    {
      key: 'apis',
      resources: [],
      paths: () => [discoveryPath('/apis/', 'getAPIVersions', 'apis', META.apiGroupList)],
    },
    {
      key: 'version',
      resources: [],
      paths: () => [jsonPath('/version/', 'getCodeVersion', 'version', META.version)],
    },
  ];
  const byVersion = Map.groupBy(resources, (resource) => `${resource.group}/${resource.version}`);
  for (const group of groups) {
    const inGroup = group.versions.map(({ version }) => byVersion.get(`${group.name}/${version}`) ?? []);
    const custom = inGroup.some((list) => list.some((resource) => resource.custom));
    // A group of custom resources has no document of its own, only its versions have.
    if (group.name !== '' && !custom) {
      sources.push({ key: `apis/${group.name}`, resources: [], paths: () => [groupPath(group.name)] });
    }
    for (const [index, { version, groupVersion }] of group.versions.entries()) {
      const list = [...(inGroup[index] ?? [])].sort((a, b) => (a.resource < b.resource ? -1 : 1));
      sources.push({
        key: `${group.name === '' ? 'api' : 'apis'}/${groupVersion}`,
        resources: list,
        paths: () => [
          // Who serves custom resources publishes nothing of itself.
          ...(custom ? [] : [groupVersionPath(group.name, version)]),
          ...list.flatMap((resource) => pathsOf(resource, catalogue, release)),
        ],
      });
    }
  }
  sources.sort((a, b) => (a.key < b.key ? -1 : 1));
  return new Map(sources.map((source) => [source.key, source]));
}

/** Digests of CRD schemas, which outlive the list of resources that they are in. */
const schemaDigests = new WeakMap<OpenApiSchema, string>();

function schemaDigest(schema: OpenApiSchema): string {
  const known = schemaDigests.get(schema);
  if (known !== undefined) return known;
  const digest = createHash('sha256').update(canonicalJson(schema)).digest('hex');
  schemaDigests.set(schema, digest);
  return digest;
}

/** Over what the document is made from rather than its text: the index needs every hash, but hardly any document. */
function hashSource(source: Source, builtIn: string): string {
  const hash = createHash('sha512').update(`${FORM}\n${builtIn}\n${source.key}\n`);
  for (const { type, strategy, ...facts } of source.resources) {
    const { resource, kind, listKind, namespaced, verbs, subresources } = facts;
    const fields = facts.custom ? [...(strategy?.fieldLabelNames ?? [])] : [];
    hash.update(canonicalJson({ resource, kind, listKind, namespaced, verbs, subresources, fields }));
    hash.update(facts.custom ? schemaDigest(type.schema) : '\n');
  }
  return hash.digest('hex').toUpperCase();
}

function accepts(accept: string | undefined, types: readonly string[]): boolean {
  return mediaRanges(accept).some(
    ({ type }) =>
      type === '*/*' || types.some((offered) => type === offered || type === `${offered.split('/')[0]}/*`),
  );
}

function notAcceptable(): Response {
  return { status: 406, headers: { vary: 'Accept' }, body: new Uint8Array() };
}
