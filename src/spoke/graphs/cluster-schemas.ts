import {
  type GraphDefinition,
  type KindSchema,
  resourceSchema,
  type SchemaSource,
  schemaSourceOf,
  schemaSources,
} from '../../engine/graph/index.ts';
import type { Client } from '../../kube/client.ts';
import {
  formatApiVersion,
  type GroupVersionKind,
  gvkOf,
  type KubeObject,
  parseApiVersion,
} from '../../kube/object.ts';
import { hasCode } from '../../kube/status-error.ts';
import type { Clock } from '../../runtime/clock.ts';
import { stringAt } from '../../schema/json.ts';
import type { OpenApiSchema } from '../../schema/open-api-schema.ts';
import type { GraphMetrics } from './metrics.ts';

/** The schemas of the kinds that a definition names: custom ones from their definitions, all others from the API's own description. */
export interface ClusterSchemas {
  /** Throws where the API cannot be asked; a kind that it does not serve is simply not found. */
  fetch(kinds: readonly GroupVersionKind[]): Promise<SchemaSource>;
  /** Descriptions of groups that are known. */
  readonly size: number;
}

interface Document {
  readonly url: string;
  readonly schemas: Readonly<Record<string, OpenApiSchema>>;
}

interface Index {
  paths?: Record<string, { serverRelativeURL?: string }>;
}

export function clusterSchemas(
  client: Client,
  definitions: () => readonly KubeObject[],
  clock: Clock,
  metrics: GraphMetrics,
): ClusterSchemas {
  /** By path, such as `apis/apps/v1`. Their address changes with what they say. */
  const documents = new Map<string, Document>();
  /** By address. */
  const reading = new Map<string, Promise<Document>>();
  /** Kinds that had a definition once: descriptions of the API lag behind when it goes. */
  const customKinds = new Set<string>();

  async function documentOf(path: string, index: Index): Promise<Document | undefined> {
    const url = index.paths?.[path]?.serverRelativeURL;
    if (url === undefined) return undefined;
    const known = documents.get(path);
    if (known?.url === url) {
      metrics.count('schema_resolver_cache_hits_total', {});
      return known;
    }
    const under = reading.get(url);
    if (under) {
      metrics.count('schema_resolver_singleflight_deduplicated_total', {});
      return under;
    }
    metrics.count('schema_resolver_cache_misses_total', {});
    const read = readDocument(url);
    reading.set(url, read);
    try {
      const document = await read;
      if (known) metrics.count('schema_resolver_cache_evictions_total', {});
      documents.set(path, document);
      return document;
    } catch (error) {
      metrics.count('schema_resolver_errors_total', {});
      throw error;
    } finally {
      reading.delete(url);
    }
  }

  async function readDocument(url: string): Promise<Document> {
    const began = clock.monotonic();
    const { components } = await client.getJson<{
      components?: { schemas?: Record<string, OpenApiSchema> };
    }>(url);
    metrics.observe('schema_resolver_api_call_duration_seconds', {}, clock.monotonic() - began);
    return { url, schemas: components?.schemas ?? {} };
  }

  async function described(kind: GroupVersionKind, index: Index): Promise<KindSchema | undefined> {
    const path = kind.group === '' ? `api/${kind.version}` : `apis/${kind.group}/${kind.version}`;
    const document = await documentOf(path, index);
    const schema = Object.values(document?.schemas ?? {}).find((item) =>
      item['x-kubernetes-group-version-kind']?.some((gvk) => kindKey(gvk) === kindKey(kind)),
    );
    if (!document || !schema) return undefined;
    try {
      const apiVersion = formatApiVersion(kind.group, kind.version);
      const { namespaced } = await client.resourceFor(apiVersion, kind.kind);
      const resolve = (name: string): OpenApiSchema | undefined => document.schemas[name];
      return { type: resourceSchema({ schema, resolve }), namespaced };
    } catch (error) {
      // A type such as PodList is described, and not served.
      if (hasCode(error, 404)) return undefined;
      throw error;
    }
  }

  return {
    get size() {
      return documents.size;
    },
    async fetch(kinds) {
      const custom = definitions();
      const source = schemaSourceOf(custom.filter((item) => kinds.some((kind) => defines(item, kind))));
      const found = new Map<string, KindSchema>();
      for (const kind of kinds) if (source.find(kind)) customKinds.add(kindKey(kind));
      const open = kinds.filter((kind) => !customKinds.has(kindKey(kind)));
      if (open.length > 0) {
        const index = await client.getJson<Index>('/openapi/v3');
        for (const kind of open) {
          const schema = await described(kind, index);
          if (schema) found.set(kindKey(kind), schema);
        }
      }
      const similar = (kind: GroupVersionKind): string[] =>
        custom
          .filter(
            (item) => stringAt(item, 'spec', 'names', 'kind')?.toLowerCase() === kind.kind.toLowerCase(),
          )
          .map((item) => `${stringAt(item, 'spec', 'group')} ${stringAt(item, 'spec', 'names', 'kind')}`);
      return schemaSources(source, { find: (kind) => found.get(kindKey(kind)), similar });
    },
  };
}

/** The kinds that a definition names, each once. */
export function kindsOf({ resources }: GraphDefinition): GroupVersionKind[] {
  const kinds = new Map<string, GroupVersionKind>();
  for (const { template, externalRef } of resources) {
    const of = template ?? externalRef;
    const [apiVersion, kind] = [of?.['apiVersion' as never], of?.['kind' as never]] as unknown[];
    if (typeof apiVersion !== 'string' || typeof kind !== 'string') continue;
    const gvk = gvkOf({ apiVersion, kind });
    kinds.set(kindKey(gvk), gvk);
  }
  return [...kinds.values()];
}

/** Whether a CustomResourceDefinition is that of a kind, in whatever version. */
export function defines(definition: KubeObject, kind: Pick<GroupVersionKind, 'group' | 'kind'>): boolean {
  return (
    stringAt(definition, 'spec', 'group') === kind.group &&
    stringAt(definition, 'spec', 'names', 'kind') === kind.kind
  );
}

export function groupKindKey(object: { apiVersion: string; kind: string }): string {
  return `${parseApiVersion(object.apiVersion).group}/${object.kind}`;
}

function kindKey({ group, version, kind }: GroupVersionKind): string {
  return `${group}/${version}/${kind}`;
}
