import { loadCatalogue } from '../catalogue/index.ts';
import type { Resource } from '../resource.ts';
import { BUILTIN_CELLS, defaultCells } from './builtin-cells.ts';

/** Columns and what fills them: one cell a column. */
export type Printer = Pick<Resource, 'columns' | 'cells'>;

/** The printer of a built-in resource, the same in all its versions; `undefined` for what is not built in. */
export function builtinColumns(group: string, resource: string): Printer | undefined {
  const columns = loadCatalogue().columns(group, resource);
  if (!columns) return undefined;
  return { columns, cells: BUILTIN_CELLS[`${group}/${resource}`] ?? defaultCells };
}
