import type { KubeObject, ListMeta } from '../../kube/object.ts';
import type { Status } from '../../kube/status-error.ts';
import { type JsonObject, numberAt, stringAt } from '../../schema/json.ts';
import { ownMetadata } from '../derived-metadata.ts';
import type { Column, Resource } from '../resource.ts';
import { type DescribeColumn, describeColumn } from './column-descriptions.ts';

export interface TableOptions {
  /** Milliseconds since the epoch, for ages. */
  readonly now: number;
  /** What stands beside the cells of a row: nothing, its metadata (the default), or the whole object. */
  readonly includeObject?: 'None' | 'Metadata' | 'Object';
  /** Of `meta.k8s.io`. */
  readonly version?: 'v1' | 'v1beta1';
  /** Of the list; of the object for a table of one. */
  readonly metadata?: ListMeta;
  /** False in a watch behind the first event: the columns are known then. */
  readonly columns?: boolean;
  /** By the descriptions of this build when unset. */
  readonly describe?: DescribeColumn;
}

/** What a table has to know of a resource; without a name its columns are those of any kind. */
export type TableResource = Pick<Resource, 'columns' | 'cells' | 'hasPrinter'> &
  Partial<Pick<Resource, 'group' | 'resource' | 'strategy'>>;

/** Objects as a Table, in their order. Parts of the objects are shared, not copied. */
export function tableOf(
  resource: TableResource,
  objects: readonly KubeObject[],
  options: TableOptions,
): JsonObject {
  const { now, includeObject = 'Metadata', version = 'v1', describe = describeColumn } = options;
  const kind = `${resource.group ?? ''}/${resource.resource ?? ''}`;
  const apiVersion = `meta.k8s.io/${version}`;
  const rowObject = (object: KubeObject): JsonObject | null => {
    if (includeObject === 'None') return null;
    if (includeObject === 'Object') return object as unknown as JsonObject;
    const metadata = ownMetadata(object.metadata, resource.strategy?.derivedAnnotations);
    return { kind: 'PartialObjectMetadata', apiVersion, metadata: metadata as JsonObject };
  };
  return {
    kind: 'Table',
    apiVersion,
    metadata: { ...(options.metadata ?? {}) },
    columnDefinitions:
      options.columns === false
        ? null
        : resource.columns.map((column) => columnDefinition(column, describe(kind, column))),
    // Upstream's table of kinds without a printer of their own has no list of rows at all when it has none.
    rows:
      objects.length === 0 && resource.hasPrinter === false
        ? null
        : inOrder(kind, objects).map((object) => ({
            cells: [...resource.cells(object, now)],
            ...(kind === '/pods' ? podConditions(object) : {}),
            object: rowObject(object),
          })),
  };
}

/** Flow schemas are shown in the order in which they are tried; all else as it is listed. */
function inOrder(kind: string, objects: readonly KubeObject[]): readonly KubeObject[] {
  if (kind !== 'flowcontrol.apiserver.k8s.io/flowschemas') return objects;
  const precedence = (object: KubeObject): number => numberAt(object, 'spec', 'matchingPrecedence') ?? 0;
  return [...objects].sort(
    (a, b) => precedence(a) - precedence(b) || ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1),
  );
}

/** What a row says of a pod that is over. */
const ENDS: Readonly<Record<string, string>> = {
  Succeeded: 'The pod has completed successfully.',
  Failed: 'The pod failed.',
};

function podConditions(pod: KubeObject): JsonObject {
  const phase = stringAt(pod, 'status', 'phase') ?? '';
  const message = ENDS[phase];
  return message === undefined
    ? {}
    : { conditions: [{ type: 'Completed', status: 'True', reason: phase, message }] };
}

function columnDefinition({ name, type, format, priority }: Column, description: string): JsonObject {
  return { name, type, format, description, priority };
}

const STATUS_COLUMNS: readonly Column[] = ['Status', 'Reason', 'Message'].map((name) => ({
  name,
  type: 'string',
  format: '',
  description: '',
  priority: 0,
}));

/** The Status that answers a delete, as a Table. */
export function statusTable(status: Status, version: 'v1' | 'v1beta1' = 'v1'): JsonObject {
  return {
    kind: 'Table',
    apiVersion: `meta.k8s.io/${version}`,
    metadata: {},
    columnDefinitions: STATUS_COLUMNS.map((column) => columnDefinition(column, '')),
    rows: [
      {
        cells: [status.status, status.reason ?? '', status.message ?? ''],
        object: status as unknown as JsonObject,
      },
    ],
  };
}
