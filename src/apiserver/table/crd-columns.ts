import { asJson } from '../../kube/object.ts';
import { parseTime } from '../../runtime/index.ts';
import { humanDuration } from '../../schema/human-duration.ts';
import type { JsonValue } from '../../schema/json.ts';
import { compileJsonPath, type JsonPath, JsonPathError } from '../../schema/json-path.ts';
import { plainText } from '../../schema/json-text.ts';
import type { Cell, Column } from '../resource.ts';
import type { Printer } from './builtin-columns.ts';

/** An entry of `additionalPrinterColumns` in a CustomResourceDefinition. */
export interface CustomColumn {
  readonly name: string;
  readonly type: string;
  readonly format?: string;
  readonly description?: string;
  readonly priority?: number;
  readonly jsonPath: string;
}

const NAME: Column = {
  name: 'Name',
  type: 'string',
  format: 'name',
  description: '',
  priority: 0,
};

/** What a definition without columns shows. */
const DEFAULT_COLUMNS: readonly CustomColumn[] = [
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
];

/**
 * The printer of a custom resource: Name, then a column per entry. Where a path cannot be read the table ends, since the
 * definition was accepted long ago when its objects are listed.
 */
export function crdColumns(columns: readonly CustomColumn[] | undefined): Printer {
  const own = columns && columns.length > 0;
  const wanted = own ? columns : DEFAULT_COLUMNS;
  const unreadable = wanted.findIndex(({ jsonPath }) => !isReadable(jsonPath));
  const entries = unreadable < 0 ? wanted : wanted.slice(0, unreadable);
  const compiled = entries.map((entry) => ({ type: entry.type, find: lazyPath(entry.jsonPath) }));
  return {
    columns: [
      NAME,
      ...entries.map((entry) => ({
        name: entry.name,
        type: entry.type,
        format: entry.format ?? '',
        // Name and the default column are described as in any kind.
        description:
          entry.description ||
          (own ? `Custom resource definition column (in JSONPath format): ${entry.jsonPath}` : ''),
        priority: entry.priority ?? 0,
      })),
    ],
    cells: (object, now) => [
      object.metadata.name ?? '',
      // A cell holds one value: the first that the path finds.
      ...compiled.map(({ type, find }) => cellOf(type, find(asJson(object))[0], now)),
    ],
  };
}

/** Plain paths are readable, and most are plain. Names in double quotes are for other readers. */
function isReadable(path: string): boolean {
  if (/^(?:\.[A-Za-z_][A-Za-z0-9_-]*)+$/.test(path)) return true;
  if (/\["/.test(path)) return false;
  try {
    compileJsonPath(path);
    return true;
  } catch (error) {
    if (error instanceof JsonPathError) return false;
    throw error;
  }
}

/** Compiled when first shown: most definitions are never listed. */
function lazyPath(path: string): JsonPath {
  let compiled: JsonPath | undefined;
  return (value) => {
    compiled ??= compileOrNothing(path);
    return compiled(value);
  };
}

function compileOrNothing(path: string): JsonPath {
  try {
    return compileJsonPath(path);
  } catch (error) {
    if (error instanceof JsonPathError) return () => [];
    throw error;
  }
}

const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;

function cellOf(type: string, value: JsonValue | undefined, now: number): Cell {
  if (value === undefined) return null;
  switch (type) {
    case 'integer':
      return typeof value === 'number' ? Math.trunc(value) : typeof value === 'bigint' ? value : null;
    case 'number':
      return typeof value === 'number' || typeof value === 'bigint' ? value : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    case 'date': {
      if (typeof value !== 'string') return null;
      const time = RFC3339.test(value) ? parseTime(value) : undefined;
      return time === undefined ? '<invalid>' : humanDuration(now - time);
    }
    default:
      return value === null ? '<no value>' : plainText(value);
  }
}
