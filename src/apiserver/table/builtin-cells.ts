import { ACCESS_CELLS } from './access-cells.ts';
import { autoscalerCells } from './autoscaler-cells.ts';
import { type Cells, nameOf } from './cell-text.ts';
import { CLUSTER_CELLS } from './cluster-cells.ts';
import { NETWORK_CELLS } from './network-cells.ts';
import { podCells } from './pod-cells.ts';
import { STORAGE_CELLS } from './storage-cells.ts';
import { WORKLOAD_CELLS } from './workload-cells.ts';

/** For kinds without columns of their own: Name, Created At. */
export const defaultCells: Cells = (object) => [nameOf(object), object.metadata.creationTimestamp ?? null];

/** Cells by `group/resource`, in the order of the catalogue's columns. */
export const BUILTIN_CELLS: Readonly<Record<string, Cells>> = {
  '/pods': podCells,
  'autoscaling/horizontalpodautoscalers': autoscalerCells,
  ...ACCESS_CELLS,
  ...CLUSTER_CELLS,
  ...NETWORK_CELLS,
  ...STORAGE_CELLS,
  ...WORKLOAD_CELLS,
};
