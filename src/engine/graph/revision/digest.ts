import { canonicalJson, isObject, type JsonValue } from '../../../schema/json.ts';
import { digestOfText } from '../../digest.ts';
import type { GraphDefinition } from '../definition.ts';
import { fnv64a } from '../fnv.ts';

export interface RevisionDigest {
  /** `sha256:…` of the content. */
  readonly digest: string;
  /** Sixteen hex digits, short enough for a label. */
  readonly hash: string;
}

/**
 * The digest of what a definition says: nodes in any order, conditions in any order, and empty lists as good as none. The order of
 * forEach counts, since it is the order in which objects are made.
 */
export function revisionDigest({ schema, resources }: GraphDefinition): RevisionDigest {
  const nodes = [...resources]
    .sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0))
    .map((node) => ({
      ...node,
      readyWhen: [...(node.readyWhen ?? [])].sort(),
      includeWhen: [...(node.includeWhen ?? [])].sort(),
      ...(node.propagateWhen && { propagateWhen: [...node.propagateWhen].sort() }),
    }));
  const text = canonicalJson(normal({ schema, resources: nodes } as unknown as JsonValue, 0));
  const hash = fnv64a(Buffer.from(text, 'utf8')).toString(16).padStart(16, '0');
  return { digest: digestOfText(text), hash };
}

/** Depth to which empty lists and objects are dropped: those of the definition itself, not those within templates. */
const OUTLINE = 3;
/** Depth of the fields of the schema. */
const FIELDS = 2;

function normal(value: JsonValue, depth: number): JsonValue | undefined {
  if (depth > OUTLINE) return value;
  if (value === null) return undefined;
  if (Array.isArray(value)) {
    if (value.length === 0) return undefined;
    return value.map((item) => normal(item, depth + 1) ?? null);
  }
  if (!isObject(value)) return value;
  const out: Record<string, JsonValue> = {};
  for (const [key, item] of Object.entries(value)) {
    const kept = item === undefined ? undefined : normal(item, depth + 1);
    if (kept !== undefined) out[key] = kept;
  }
  return depth === FIELDS && Object.keys(out).length === 0 ? undefined : out;
}
