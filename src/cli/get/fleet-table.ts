import { DISPATCH_LABEL } from '../../engine/dispatch/index.ts';
import { CLUSTER_ANNOTATION } from '../../hub/access/index.ts';
import type { ObjectMeta } from '../../kube/object.ts';
import { cell, type Paint, table } from '../output.ts';

/** `meta.k8s.io/v1` Table, as far as it is printed. */
export interface ServerTable {
  readonly columnDefinitions?: readonly { readonly name: string; readonly priority?: number }[] | null;
  readonly rows?: readonly {
    readonly cells: readonly unknown[];
    readonly object?: { readonly metadata?: ObjectMeta };
  }[];
}

export interface ShownColumns {
  readonly namespace: boolean;
  /** Columns of lower priority, too. */
  readonly wide: boolean;
  /** Whether the hub put the object there. */
  readonly adoption: boolean;
}

/** In the column CLUSTER: objects of the hub itself. */
export const HUB_ITSELF = '(hub)';
const CLUSTER_COLUMN = 'Cluster';

/** Tables of the fleet and of the hub as lines, with one set of columns. */
export interface FleetLines {
  /** Adds what a server sent. `cluster` is where the rows are from, when they do not say it. */
  lines(found: ServerTable, cluster?: string): string[][];
  /** Upper case, as they are now. */
  head(): string[];
}

export function fleetLines(shown: ShownColumns): FleetLines {
  /** In the order in which they are printed. */
  const columns: string[] = [];
  let own: readonly { readonly name: string; readonly priority?: number }[] = [];

  return {
    head: () => [
      'CLUSTER',
      ...(shown.namespace ? ['NAMESPACE'] : []),
      ...columns.map((name) => name.toUpperCase()),
      ...(shown.adoption ? ['ADOPTION'] : []),
    ],
    lines(found, cluster) {
      // In a watch only the first event of its columns has them.
      if (found.columnDefinitions && found.columnDefinitions.length > 0) own = found.columnDefinitions;
      for (const { name, priority = 0 } of own)
        if (name !== CLUSTER_COLUMN && (shown.wide || priority === 0) && !columns.includes(name))
          columns.push(name);
      return (found.rows ?? []).map(({ cells, object }) => {
        const metadata = object?.metadata ?? {};
        const from = cluster ?? metadata.annotations?.[CLUSTER_ANNOTATION] ?? '';
        const adopted = metadata.labels?.[DISPATCH_LABEL] === undefined ? 'N' : 'Y';
        return [
          from,
          ...(shown.namespace ? [metadata.namespace ?? ''] : []),
          ...columns.map((name) => {
            const index = own.findIndex((definition) => definition.name === name);
            return index < 0 ? '<none>' : cellText(cells[index]);
          }),
          ...(shown.adoption ? [from === HUB_ITSELF ? '-' : adopted] : []),
        ];
      });
    },
  };
}

/** All lines as a table, clusters in order. */
export function linesText(
  head: readonly string[],
  lines: readonly (readonly string[])[],
  paint: Paint,
): string {
  const sorted = [...lines].sort((a, b) => compare(a[0], b[0]) || compare(a[1], b[1]) || compare(a[2], b[2]));
  return table(
    head,
    sorted.map(([cluster = '', ...rest]) => [cell(cluster, 'strong'), ...padded(rest, head.length - 1)]),
    paint,
  );
}

function padded(cells: readonly string[], length: number): string[] {
  return Array.from({ length }, (_, index) => cells[index] ?? '<none>');
}

function compare(a: string = '', b: string = ''): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function cellText(value: unknown): string {
  if (value === null || value === undefined) return '<none>';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.replaceAll(/\s*\n\s*/g, ' ');
}
