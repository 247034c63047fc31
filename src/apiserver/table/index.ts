/**
 * What `kubectl get` shows: objects as rows of cells (`meta.k8s.io` Table), by the printer columns of built-in kinds or of a
 * CustomResourceDefinition. Cells are computed when asked for, since they hold ages. A field that is missing or of another
 * type than expected gives an empty cell, never an error.
 */
export { builtinColumns, type Printer } from './builtin-columns.ts';
export { type CustomColumn, crdColumns } from './crd-columns.ts';
export { scaleTableOf } from './scale-cells.ts';
export { statusTable, type TableOptions, tableOf } from './table.ts';
