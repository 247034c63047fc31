import {
  type ApiType,
  type FederatedObject,
  type FederatedType,
  federate,
  federatedTypeOf,
  federateNamespace,
  notContents,
  typeConfigName,
} from '../../dialects/kubefed/index.ts';
import type { Client, ResourceId } from '../../kube/client.ts';
import {
  formatApiVersion,
  gvkOf,
  type KubeObject,
  type ObjectRef,
  refOf,
  refText,
} from '../../kube/object.ts';
import { pagesOf } from '../../kube/pages.ts';
import { hasCode, StatusError } from '../../kube/status-error.ts';
import { type Clock, sleep } from '../../runtime/clock.ts';
import {
  enabledTypes,
  enableTypes,
  federatedTypeIn,
  readTypes,
  type TypeOptions,
  typeManifests,
  typeNamed,
} from './types.ts';

const FIELD_MANAGER = 'atoll-cli';
const STEP_MS = 1_000;
const PATIENCE_MS = 10_000;
const PAGE = 500;

export interface FederateOptions extends TypeOptions {
  readonly namespace: string;
  /** Enable types that are not. */
  readonly enableType: boolean;
  /** Also what is in a namespace. */
  readonly contents: boolean;
  readonly skipApiResources: readonly string[];
}

/** What is to be made, types first. */
export interface FederationPlan {
  /** Names of types that are to be enabled. */
  readonly enable: readonly ApiType[];
  readonly objects: readonly { readonly object: FederatedObject; readonly resource: ResourceId }[];
  readonly skipped: readonly { readonly ref: ObjectRef; readonly reason: string }[];
}

/** Which federated type an object has, and whether it is enabled. */
interface Types {
  readonly all: readonly ApiType[];
  of(type: ApiType): { readonly type: FederatedType; readonly enabled: boolean };
}

async function typesOf(client: Client, options: FederateOptions): Promise<Types> {
  const all = await readTypes(client);
  const enabled = await enabledTypes(client, options.kubefedNamespace);
  return {
    all,
    of(type) {
      const config = enabled.get(typeConfigName({ group: type.group, pluralName: type.plural }));
      return config
        ? { type: federatedTypeOf(config), enabled: true }
        : { type: federatedTypeIn(type, options), enabled: false };
    },
  };
}

/** The federated form of one object of the hub, or of a namespace with what is in it. Throws where there is no such object. */
export async function planFederation(
  client: Client,
  typeName: string,
  name: string,
  options: FederateOptions,
): Promise<FederationPlan> {
  const types = await typesOf(client, options);
  const type = typeNamed(typeName, types.all);
  const isNamespace = type.group === '' && type.kind === 'Namespace';
  if (options.contents && !isNamespace)
    throw new Error('--contents is for namespaces: atoll federate namespace NAME --contents');
  const object = await client.get(resourceOf(type), type.namespaced ? options.namespace : '', name);
  const { type: federated, enabled } = types.of(type);
  if (!enabled) mustEnable(type, options);
  if (!isNamespace)
    return {
      enable: enabled ? [] : [type],
      objects: [planned(federate(object, federated), federated)],
      skipped: [],
    };
  return planNamespace(client, object, type, types, options);
}

function mustEnable({ group, plural }: ApiType, { enableType }: FederateOptions): void {
  const name = typeConfigName({ group, pluralName: plural });
  if (!enableType)
    throw new Error(`the type ${name} is not enabled. Next: atoll enable ${name}, or add --enable-type`);
}

/** A type of the API, what it is federated as, and whether it is. */
interface KnownType {
  readonly type: ApiType;
  readonly federated: FederatedType;
  readonly enabled: boolean;
}

async function planNamespace(
  client: Client,
  namespace: KubeObject,
  namespaceType: ApiType,
  types: Types,
  options: FederateOptions,
): Promise<FederationPlan> {
  const contents = options.contents
    ? types.all.filter((type) => notContents(type, options.skipApiResources) === undefined)
    : [];
  const known = [namespaceType, ...contents].map((type): KnownType => {
    const { type: federated, enabled } = types.of(type);
    return { type, federated, enabled };
  });
  const byKind = new Map(known.map((item) => [`${item.type.group}/${item.type.kind}`, item]));
  const found: KubeObject[] = [];
  for (const type of contents) found.push(...(await listAll(client, type, namespace.metadata.name ?? '')));
  const federable = federateNamespace(
    namespace,
    found,
    (object) => {
      const { group, kind } = gvkOf(object);
      const item = byKind.get(`${group}/${kind}`);
      return item && (item.enabled || options.enableType) ? item.federated : undefined;
    },
    options.kubefedNamespace,
  );
  if ('problem' in federable) throw new Error(federable.problem);
  const byFederated = new Map(known.map((item) => [federatedKindOf(item.federated), item]));
  const objects = federable.objects.flatMap((object) => {
    const { group, kind } = gvkOf(object);
    const item = byFederated.get(`${group}/${kind}`);
    return item ? [{ ...planned(object, item.federated), item }] : [];
  });
  const [own] = known;
  if (own && !own.enabled) mustEnable(own.type, options);
  const enable = new Set(objects.filter(({ item }) => !item.enabled).map(({ item }) => item.type));
  return {
    enable: [...enable],
    objects: objects.map(({ object, resource }) => ({ object, resource })),
    skipped: federable.skipped,
  };
}

/** Objects that files hold, as federated ones. Nothing of them needs to be at the hub. */
export async function planFiles(
  client: Client,
  objects: readonly KubeObject[],
  options: FederateOptions,
): Promise<FederationPlan> {
  const types = await typesOf(client, options);
  const enable = new Set<ApiType>();
  const made = objects.map((object) => {
    const { group, kind } = gvkOf(object);
    const type = types.all.find((item) => item.group === group && item.kind === kind);
    if (!type)
      throw new Error(
        `the hub serves no ${kind} of ${object.apiVersion}: ${refText(refOf(object))} cannot be federated`,
      );
    const { type: federated, enabled } = types.of(type);
    if (!enabled) enable.add(type);
    const home =
      type.namespaced && object.metadata.namespace === undefined ? { namespace: options.namespace } : {};
    return planned(federate({ ...object, metadata: { ...object.metadata, ...home } }, federated), federated);
  });
  return { enable: [...enable], objects: made, skipped: [] };
}

/** Definitions and configs of the types that a plan enables, for whoever wants to read or keep them. */
export async function planManifests(
  client: Client,
  { enable, objects }: FederationPlan,
  options: FederateOptions,
): Promise<readonly KubeObject[]> {
  const types: KubeObject[] = [];
  for (const type of options.enableType ? enable : [])
    types.push(...(await typeManifests(client, federatedTypeIn(type, options), options)));
  return [...types, ...objects.map(({ object }) => object)];
}

/** Makes what a plan says. Types first; their kinds take a moment to be served. Throws where one is there already. */
export async function carryOut(
  clock: Clock,
  client: Client,
  { enable, objects }: FederationPlan,
  options: FederateOptions,
): Promise<void> {
  const names = enable.map(({ group, plural }) => typeConfigName({ group, pluralName: plural }));
  if (names.length > 0) await enableTypes(clock, client, names, options);
  // What is not served yet cannot be tried either.
  if (options.dryRun === true && names.length > 0) return;
  for (const { object, resource } of objects)
    await create(clock, client, resource, object, options.dryRun === true);
}

async function create(
  clock: Clock,
  client: Client,
  resource: ResourceId,
  object: KubeObject,
  dryRun: boolean,
): Promise<void> {
  const deadline = clock.monotonic() + PATIENCE_MS;
  for (;;) {
    try {
      await client.create(resource, object, { fieldManager: FIELD_MANAGER, ...(dryRun ? { dryRun } : {}) });
      return;
    } catch (error) {
      if (!hasCode(error, 404) || clock.monotonic() >= deadline) throw error;
      await sleep(clock, STEP_MS);
    }
  }
}

async function listAll(client: Client, type: ApiType, namespace: string): Promise<KubeObject[]> {
  const out: KubeObject[] = [];
  try {
    // Items of lists say their kind only where the server is kind.
    for await (const items of pagesOf(client, resourceOf(type), namespace, { limit: PAGE }))
      for (const item of items) out.push({ ...item, apiVersion: apiVersionOf(type), kind: type.kind });
  } catch (error) {
    // Some types can only be made, such as reviews of rights.
    if (!(error instanceof StatusError) || (error.code !== 404 && error.code !== 405)) throw error;
  }
  return out;
}

function planned(object: FederatedObject, { federated }: FederatedType): FederationPlan['objects'][number] {
  const { group = '', version, kind, pluralName, scope } = federated;
  return {
    object,
    resource: { group, version, kind, resource: pluralName, namespaced: scope === 'Namespaced' },
  };
}

function federatedKindOf({ federated }: FederatedType): string {
  return `${federated.group ?? ''}/${federated.kind}`;
}

function apiVersionOf({ group, version }: ApiType): string {
  return formatApiVersion(group, version);
}

function resourceOf({ group, version, kind, plural, namespaced }: ApiType): ResourceId {
  return { group, version, kind, resource: plural, namespaced };
}
