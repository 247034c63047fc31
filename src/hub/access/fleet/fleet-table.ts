import { isObject, type JsonObject, type JsonValue } from '../../../schema/json.ts';

/** On objects that were read from the fleet: the cluster that has them. */
export const CLUSTER_ANNOTATION = 'atoll.dev/cluster';

const COLUMN: JsonObject = {
  name: 'Cluster',
  type: 'string',
  format: '',
  description: 'The cluster that has the object.',
  priority: 0,
};
/** What clusters of another release print and this one does not. */
const NO_CELL = '<none>';

/** Tables of several clusters as one: with a column for the cluster, and cells under the columns of their names. */
export interface FleetTable {
  /** The columns so far: clusters of other releases may have more. */
  readonly definitions: readonly JsonObject[];
  /** Rows of a cluster as they go into the one table. `own` are the cluster's own columns. */
  rows(cluster: string, own: readonly string[], rows: readonly JsonValue[]): JsonObject[];
  /** Learns the columns of a cluster; gives their names. */
  learn(definitions: JsonValue | undefined): string[];
}

export function fleetTable(): FleetTable {
  const definitions: JsonObject[] = [];
  return {
    definitions,
    learn(found) {
      const own = (Array.isArray(found) ? found : []).filter(isObject);
      for (const definition of own)
        if (!definitions.some(({ name }) => name === definition.name)) definitions.push(definition);
      // Behind the name, where people look for it.
      if (definitions[0] !== undefined && !definitions.includes(COLUMN)) definitions.splice(1, 0, COLUMN);
      return own.map(({ name }) => String(name));
    },
    rows(cluster, own, rows) {
      const at = definitions.map((definition) =>
        definition === COLUMN ? -1 : own.indexOf(String(definition.name)),
      );
      return rows.filter(isObject).map((row) => {
        const cells = Array.isArray(row.cells) ? row.cells : [];
        return {
          ...row,
          cells: definitions.map((definition, index) =>
            definition === COLUMN ? cluster : (cells[at[index] ?? -1] ?? NO_CELL),
          ),
          ...(isObject(row.object) ? { object: located(row.object, cluster) } : {}),
        };
      });
    },
  };
}

/** An object that says which cluster has it; with another version where one is given. */
export function located(object: JsonObject, cluster: string, resourceVersion?: string): JsonObject {
  const metadata = isObject(object.metadata) ? object.metadata : {};
  const annotations = isObject(metadata.annotations) ? metadata.annotations : {};
  return {
    ...object,
    metadata: {
      ...metadata,
      annotations: { ...annotations, [CLUSTER_ANNOTATION]: cluster },
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    },
  };
}
