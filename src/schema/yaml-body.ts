import type { Document, Node, Pair, ParseOptions, ScalarTag, Tags } from 'yaml';
import {
  DEFAULT_MAX_DEPTH,
  type Decoded,
  type DecodeFailure,
  type DecodeLimits,
  decodeText,
  forbiddenKey,
  parseJsonBody,
  syntaxFailure,
  tooDeep,
} from './decode.ts';
import { childPath } from './field-issue.ts';
import { isObject, type JsonObject, type JsonValue } from './json.ts';
import { exactInteger } from './json-text.ts';
import { yamlLibrary } from './yaml-library.ts';

/** A document of a YAML stream. */
export interface YamlDocument {
  /** Where its content begins, from 1. */
  readonly line: number;
  readonly result: Decoded | DecodeFailure;
}

const LEFT_OUT: ReadonlySet<string> = new Set(
  ['timestamp', 'binary', 'omap', 'pairs', 'set'].map((name) => `tag:yaml.org,2002:${name}`),
);

/** `0o17`, which the parser behind kubectl also reads in YAML 1.1. */
const modernOctal: ScalarTag = {
  identify: () => false,
  default: true,
  tag: 'tag:yaml.org,2002:int',
  format: 'OCT',
  test: /^[-+]?0o[0-7]+$/,
  resolve: (text) => (text.startsWith('-') ? -1 : 1) * Number.parseInt(text.replace(/^[-+]?0o/, ''), 8),
};

/** A dot with no digit is text, whatever the library makes of it: it is a name in the fields that managers own. */
const dotAlone: ScalarTag = {
  identify: () => false,
  default: true,
  tag: 'tag:yaml.org,2002:str',
  test: /^[-+]?\.$/,
  resolve: (text) => text,
};

/**
 * kubectl's dialect: YAML 1.1 (`yes` and `on` are booleans, `0777` is octal, `<<` merges), but `12:30:45` is no number
 * and `2001-01-01` no date: both stay text.
 */
const OPTIONS = {
  version: '1.1',
  merge: true,
  customTags: (tags: Tags): Tags => [
    modernOctal,
    dotAlone,
    ...tags.filter((tag) => {
      if (typeof tag === 'string') return true;
      return !LEFT_OUT.has(tag.tag) && !('format' in tag && tag.format === 'TIME');
    }),
  ],
  // Long integers keep their digits; `plain` makes numbers of all others.
  intAsBigInt: true,
  // The library compares every pair of keys of a map; we look for duplicates in linear time.
  uniqueKeys: false,
  prettyErrors: false,
  logLevel: 'silent',
} as const;

/** Decodes a YAML (or JSON) body: its first document. An empty body is null. */
export function parseYamlBody(body: Uint8Array | string, limits: DecodeLimits = {}): Decoded | DecodeFailure {
  const text = decodeText(body, limits);
  if (typeof text !== 'string') return text;
  if (/^\s*\{/.test(text)) {
    // Most clients send JSON where YAML is allowed, and JSON is read a hundred times faster.
    const json = parseJsonBody(text, { ...limits, maxBytes: Number.POSITIVE_INFINITY });
    // Where keys are repeated, their lines are wanted as well.
    if (json.ok ? json.duplicates.length === 0 : json.reason !== 'Syntax') return json;
  }
  const documents = parseYamlDocuments(text, limits.maxDepth ?? DEFAULT_MAX_DEPTH);
  // As elsewhere, what follows the first document is not looked at.
  const [first] = documents;
  if (!first) return { ok: true, value: null, duplicates: [], inexact: [] };
  return first.result;
}

/** All documents of a stream that are not empty. */
export function parseYamlDocuments(text: string, maxDepth: number = DEFAULT_MAX_DEPTH): YamlDocument[] {
  const lineCounter = new (yamlLibrary().LineCounter)();
  const options: ParseOptions & typeof OPTIONS = { ...OPTIONS, lineCounter };
  let documents: Document.Parsed[];
  try {
    const parsed = yamlLibrary().parseAllDocuments(text, options);
    if ('empty' in parsed) return [];
    documents = parsed;
  } catch (error) {
    // The parser goes as deep as the text does, and the stack ends long before memory.
    if (error instanceof RangeError) return [{ line: 1, result: tooDeep(maxDepth) }];
    throw error;
  }
  const out: YamlDocument[] = [];
  for (const document of documents) {
    const line = lineCounter.linePos(document.contents?.range?.[0] ?? document.range[0]).line;
    const result = convert(document, text, maxDepth, (at) => lineCounter.linePos(at).line);
    if (!result.ok || result.value !== null) out.push({ line, result });
  }
  return out;
}

/** `lineOf` tells the line of a position, from 1. */
function convert(
  document: Document.Parsed,
  text: string,
  maxDepth: number,
  lineOf: (position: number) => number,
): Decoded | DecodeFailure {
  const problem = document.errors[0];
  if (problem) {
    // The library reports the end of its stack as an error of the text.
    if (problem.message.includes('call stack')) return tooDeep(maxDepth);
    return syntaxFailure(text, problem.pos[0], problem.message);
  }
  const refusal = structureProblem(document, text);
  if (refusal !== undefined) return refusal;
  let raw: unknown;
  try {
    raw = document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    if (error instanceof RangeError) return tooDeep(maxDepth);
    // An alias without anchor, or aliases that would multiply the document.
    if (error instanceof ReferenceError || error instanceof TypeError) {
      return syntaxFailure(text, document.range[0], error.message);
    }
    throw error;
  }
  const failure: { found?: DecodeFailure } = {};
  const value = plain(raw, maxDepth, failure);
  if (failure.found) return failure.found;
  return inspect(document, value, lineOf);
}

/** To follow one alias, the library walks the document. */
const MAX_ALIAS_STEPS = 10_000_000;

/** What would take the library too long to make a value of: aliases, and keys that hold others, each of which it writes as a text. */
function structureProblem(document: Document.Parsed, text: string): DecodeFailure | undefined {
  let nodes = 0;
  let aliases = 0;
  let unfit: number | undefined;
  yamlLibrary().visit(document, {
    Node() {
      nodes++;
    },
    Map(_key, map) {
      nodes++;
      for (const pair of map.items) {
        if (keyText(pair) !== undefined) continue;
        unfit = yamlLibrary().isNode(pair.key) ? (pair.key.range?.[0] ?? 0) : 0;
        return yamlLibrary().visit.BREAK;
      }
      return undefined;
    },
    Alias() {
      nodes++;
      aliases++;
    },
  });
  if (unfit !== undefined) return syntaxFailure(text, unfit, 'a key must be a text, a number or a boolean');
  return nodes * aliases > MAX_ALIAS_STEPS
    ? syntaxFailure(text, document.range[0], 'the document has too many aliases')
    : undefined;
}

/** A copy without shared parts (aliases give the same object twice) that holds JSON only. */
function plain(value: unknown, depthLeft: number, failure: { found?: DecodeFailure }): JsonValue {
  if (typeof value === 'number' && !Number.isFinite(value)) {
    failure.found ??= { ok: false, reason: 'Syntax', message: `${value} has no form in JSON` };
    return null;
  }
  if (typeof value === 'bigint') return exactInteger(String(value)) ?? Number(value);
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  if (typeof value !== 'object' || value === null || failure.found) return null;
  if (depthLeft <= 0) {
    failure.found = { ok: false, reason: 'TooDeep', message: 'the body is nested too deeply' };
    return null;
  }
  if (Array.isArray(value)) return value.map((item) => plain(item, depthLeft - 1, failure));
  const out: JsonObject = {};
  for (const [key, item] of Object.entries(value)) {
    if (key === '__proto__') failure.found = forbiddenKey();
    else out[key] = plain(item, depthLeft - 1, failure);
  }
  return out;
}

/** So many paths are told of what stands more than once, or is not exact: finding each goes through the lists around it. */
const MAX_PATHS = 1000;

/** Looks in the source for what the value no longer shows. */
function inspect(document: Document.Parsed, value: JsonValue, lineOf: (position: number) => number): Decoded {
  const duplicates = new Set<string>();
  const repeated: { at: number; end: number; key: JsonValue }[] = [];
  const inexact: string[] = [];
  yamlLibrary().visit(document, {
    Map(_key, map, ancestors) {
      const seen = new Set<string>();
      for (const pair of map.items) {
        const key = keyText(pair);
        if (key === undefined || key === '<<') continue;
        if (seen.has(key) && repeated.length < MAX_PATHS) {
          duplicates.add(childPath(pathOf([...ancestors, map]), key));
          repeated.push(repetition(pair, key));
        }
        seen.add(key);
      }
    },
    Scalar(_key, scalar, ancestors) {
      const { value: number } = scalar;
      if (inexact.length === MAX_PATHS) return;
      if (typeof number === 'bigint' && !Number.isSafeInteger(Number(number))) {
        inexact.push(pathOf([...ancestors, scalar]));
      }
    },
  });
  if (repeated.length === 0) return { ok: true, value, duplicates: [], inexact };
  // What is inside a value comes before the key of that value.
  repeated.sort((a, b) => a.end - b.end || b.at - a.at);
  return {
    ok: true,
    value,
    duplicates: [...duplicates],
    repeated: repeated.map(({ at, key }) => ({ key, line: lineOf(at) })),
    inexact,
  };
}

function repetition(pair: Pair, text: string): { at: number; end: number; key: JsonValue } {
  const { key, value } = pair as Pair<Node, Node | null>;
  const at = key.range?.[0] ?? 0;
  const known = yamlLibrary().isScalar(key) ? key.value : text;
  return {
    at,
    end: value?.range?.[1] ?? at,
    key: typeof known === 'number' || typeof known === 'bigint' || typeof known === 'boolean' ? known : text,
  };
}

function keyText(pair: Pair): string | undefined {
  return yamlLibrary().isScalar(pair.key) && pair.key.value !== null ? String(pair.key.value) : undefined;
}

/** The path of the last of a chain of nodes, each of which holds the next. */
function pathOf(chain: readonly (Document | Node | Pair)[]): string {
  let path = '';
  for (const [index, node] of chain.entries()) {
    const next = chain[index + 1];
    if (yamlLibrary().isPair(node) && next !== undefined && next !== node.key)
      path = childPath(path, keyText(node) ?? '');
    else if (yamlLibrary().isSeq(node) && next !== undefined) path = `${path}[${node.items.indexOf(next)}]`;
    else if (yamlLibrary().isMap(node)) continue;
  }
  return path;
}

/** Objects of manifests, and what could not be read. */
export interface Manifests {
  /** In the order of the text; lists are taken apart. */
  readonly objects: readonly JsonObject[];
  /** Where each object's document begins, from 1. */
  readonly lines: readonly number[];
  readonly errors: readonly ManifestProblem[];
  /** Fields that stand more than once: the last one counts, as for kubectl, but nobody means that. */
  readonly warnings: readonly ManifestProblem[];
}

export interface ManifestProblem {
  /** From 1. */
  readonly line: number;
  readonly message: string;
}

/** Manifests are files of people, larger than one request and smaller than what would block a process for long. */
const MAX_MANIFEST_BYTES = 16 * 1024 * 1024;
const MAX_OBJECTS = 20_000;

/**
 * Reads manifests as kubectl does: YAML or JSON, any number of documents, `List` objects taken apart, empty documents left
 * out. Every object has an `apiVersion` and a `kind`. What cannot be read is in `errors`; the other objects are still there.
 */
export function parseManifests(text: string, limits: DecodeLimits = {}): Manifests {
  const objects: JsonObject[] = [];
  const lines: number[] = [];
  const errors: ManifestProblem[] = [];
  const warnings: ManifestProblem[] = [];
  const content = decodeText(text, { maxBytes: limits.maxBytes ?? MAX_MANIFEST_BYTES });
  if (typeof content !== 'string') {
    return { objects, lines, errors: [{ line: 1, message: content.message }], warnings };
  }
  for (const { line, result } of parseYamlDocuments(content.replace(/^\uFEFF/, ''), limits.maxDepth)) {
    if (!result.ok) {
      errors.push({ line: result.line ?? line, message: result.message });
      continue;
    }
    for (const path of result.duplicates) {
      warnings.push({ line, message: `the field ${JSON.stringify(path)} stands more than once` });
    }
    for (const item of itemsOf(result.value)) {
      const problem = manifestProblem(item);
      if (problem !== undefined || !isObject(item)) {
        errors.push({ line, message: problem ?? 'not an object' });
      } else if (objects.length >= MAX_OBJECTS) {
        errors.push({ line, message: `more than ${MAX_OBJECTS} objects` });
        return { objects, lines, errors, warnings };
      } else {
        objects.push(item);
        lines.push(line);
      }
    }
  }
  return { objects, lines, errors, warnings };
}

function itemsOf(value: JsonValue): readonly JsonValue[] {
  if (
    isObject(value) &&
    typeof value.kind === 'string' &&
    value.kind.endsWith('List') &&
    Array.isArray(value.items)
  ) {
    return value.items;
  }
  return [value];
}

function manifestProblem(value: JsonValue): string | undefined {
  if (!isObject(value)) return 'a manifest must be an object with apiVersion and kind';
  for (const key of ['apiVersion', 'kind'] as const) {
    if (typeof value[key] !== 'string' || value[key] === '') return `${key} is missing or not a text`;
  }
  return undefined;
}
