import type { CompiledGraph } from '../../engine/graph/index.ts';
import { asObject, formatApiVersion, type KubeObject } from '../../kube/object.ts';
import type { JsonObject, JsonValue } from '../../schema/json.ts';
import { jsonText } from '../../schema/json-text.ts';
import type { OpenApiSchema } from '../../schema/open-api-schema.ts';
import { documents } from './documents.ts';
import { type GraphOptions, rightGraphs } from './load.ts';

export interface SampleOptions extends GraphOptions {
  readonly output?: 'json' | 'yaml';
}

/** Prints an instance of each definition to begin with: every field, with its default or a value that would be admitted. */
export function sampleInstances(options: SampleOptions): number {
  const objects = rightGraphs(options).graphs.map(sampleOf);
  const one = objects.length === 1 ? objects[0] : { apiVersion: 'v1', kind: 'List', items: objects };
  process.stdout.write(options.output === 'json' ? `${jsonText(one, 2)}\n` : documents(objects));
  return 0;
}

export function sampleOf({ instance, schema }: CompiledGraph): KubeObject {
  const { group, version, kind, namespaced } = instance;
  const spec = sampleValue(schema.properties?.['spec'] ?? {});
  return asObject({
    apiVersion: formatApiVersion(group, version),
    kind,
    metadata: { name: `my-${kind.toLowerCase()}`, ...(namespaced && { namespace: 'default' }) },
    spec,
  });
}

function sampleValue(schema: OpenApiSchema): JsonValue {
  const fields = schema.properties;
  if (schema.type === 'object' && fields && Object.keys(fields).length > 0) {
    const out: JsonObject = {};
    for (const [name, field] of Object.entries(fields)) out[name] = sampleValue(field);
    return out;
  }
  if (schema.default !== undefined) return schema.default;
  const [first] = schema.enum ?? [];
  if (first !== undefined) return first;
  switch (schema.type) {
    case 'string':
      return 'x'.repeat(schema.minLength ?? 0);
    case 'integer':
    case 'number':
      return schema.minimum ?? Math.min(0, schema.maximum ?? 0);
    case 'boolean':
      return false;
    case 'array': {
      const items = schema.items;
      return items ? Array.from({ length: schema.minItems ?? 0 }, () => sampleValue(items)) : [];
    }
    default:
      return {};
  }
}
