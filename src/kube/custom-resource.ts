import { type Clock, sleep } from '../runtime/clock.ts';
import { isApplied } from '../schema/apply/index.ts';
import { listAt, stringAt } from '../schema/json.ts';
import type { OpenApiSchema } from '../schema/open-api-schema.ts';
import type { Client, ResourceId } from './client.ts';
import { asJson, formatApiVersion, type KubeObject } from './object.ts';
import { ignoring } from './status-error.ts';
import { customResourceDefinitions } from './well-known.ts';

/** A custom kind in the few words that differ between kinds. */
export interface CustomKind extends AnyCustomKind {
  readonly spec: OpenApiSchema;
}

/** The same, also for the few that have no spec. */
export interface AnyCustomKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular?: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly scope: 'Namespaced' | 'Cluster';
  readonly description?: string;
  readonly spec?: OpenApiSchema;
  /** Fields beside metadata, spec and status. */
  readonly fields?: Readonly<Record<string, OpenApiSchema>>;
  /** Which of the fields beside metadata must be given. */
  readonly required?: readonly string[];
  /** Absent where the kind has no status subresource. */
  readonly status?: OpenApiSchema;
  readonly columns?: readonly PrinterColumn[];
  /** JSON paths by which objects can be listed (`--field-selector`), such as `.spec.name`. */
  readonly selectable?: readonly string[];
  /** Of the definition itself. */
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface PrinterColumn {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  readonly jsonPath: string;
  readonly priority?: number;
  readonly description?: string;
}

/** The CustomResourceDefinition of a kind, with its single version served and stored. */
export function customResourceDefinition(kind: AnyCustomKind): KubeObject {
  const singular = kind.singular ?? kind.kind.toLowerCase();
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${kind.plural}.${kind.group}`,
      ...(kind.annotations === undefined ? {} : { annotations: { ...kind.annotations } }),
    },
    spec: {
      group: kind.group,
      scope: kind.scope,
      names: {
        kind: kind.kind,
        listKind: `${kind.kind}List`,
        plural: kind.plural,
        singular,
        ...(kind.shortNames === undefined ? {} : { shortNames: [...kind.shortNames] }),
        ...(kind.categories === undefined ? {} : { categories: [...kind.categories] }),
      },
      versions: [
        {
          name: kind.version,
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              ...(kind.description === undefined ? {} : { description: kind.description }),
              properties: {
                apiVersion: { type: 'string' },
                kind: { type: 'string' },
                metadata: { type: 'object' },
                ...kind.fields,
                ...(kind.spec === undefined ? {} : { spec: kind.spec }),
                ...(kind.status === undefined ? {} : { status: kind.status }),
              },
              ...(kind.required === undefined ? {} : { required: [...kind.required] }),
            },
          },
          ...(kind.status === undefined ? {} : { subresources: { status: {} } }),
          ...(kind.columns === undefined
            ? {}
            : { additionalPrinterColumns: kind.columns.map((column) => ({ ...column })) }),
          ...(kind.selectable === undefined
            ? {}
            : { selectableFields: kind.selectable.map((jsonPath) => ({ jsonPath })) }),
        },
      ],
    },
  };
}

export function resourceIdOf(kind: AnyCustomKind): ResourceId {
  return {
    group: kind.group,
    version: kind.version,
    resource: kind.plural,
    kind: kind.kind,
    namespaced: kind.scope === 'Namespaced',
  };
}

export function apiVersionOf(kind: AnyCustomKind): string {
  return formatApiVersion(kind.group, kind.version);
}

/** Field manager of the kinds that Atoll brings along. */
const INSTALLER = 'atoll';
const ESTABLISH_TIMEOUT_MS = 30_000;

/** Serves kinds on an API server: applies their definitions and waits until they are established. Writes nothing where all is so. */
export async function installKinds(
  clock: Clock,
  client: Client,
  kinds: readonly AnyCustomKind[],
): Promise<void> {
  const deadline = clock.monotonic() + ESTABLISH_TIMEOUT_MS;
  await Promise.all(
    kinds.map(async (kind) => {
      const wanted = customResourceDefinition(kind);
      const name = `${kind.plural}.${kind.group}`;
      let definition = await definitionNamed(client, name);
      // At most starts all is there already: then nothing is asked to be written.
      if (!definition || !isApplied(asJson(definition), asJson(wanted), INSTALLER))
        definition = await client.apply(customResourceDefinitions, wanted, {
          fieldManager: INSTALLER,
          force: true,
        });
      while (!isEstablished(definition)) {
        if (clock.monotonic() > deadline)
          throw new Error(`the API server did not establish ${name}: kubectl describe crd ${name} tells why`);
        await sleep(clock, 100);
        definition = await client.get(customResourceDefinitions, '', name);
      }
    }),
  );
}

async function definitionNamed(client: Client, name: string): Promise<KubeObject | undefined> {
  return ignoring(404, client.get(customResourceDefinitions, '', name));
}

function isEstablished(definition: KubeObject): boolean {
  return listAt(definition, 'status', 'conditions').some(
    (condition) => stringAt(condition, 'type') === 'Established' && stringAt(condition, 'status') === 'True',
  );
}
