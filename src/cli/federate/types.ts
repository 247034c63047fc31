import {
  type ApiResource,
  type ApiType,
  DEFAULT_TYPES,
  EARLY_GROUP,
  earlyKinds,
  enableProblem,
  FEDERATED_GROUP,
  FEDERATED_TYPE_CONFIG,
  FEDERATED_VERSION,
  FEDERATION_PLACEMENT,
  type FederatedType,
  type FederatedTypeConfig,
  federatedTypeFor,
  federatedTypeOf,
  resolveType,
  typeConfigName,
  typeConfigOf,
} from '../../dialects/kubefed/index.ts';
import { AUTHOR_POLICY, federatedDefinition, installKind } from '../../hub/kubefed/index.ts';
import type { Client, ResourceId } from '../../kube/client.ts';
import { customResourceDefinition, resourceIdOf } from '../../kube/custom-resource.ts';
import type { KubeObject } from '../../kube/object.ts';
import { hasCode, ignoring } from '../../kube/status-error.ts';
import { customResourceDefinitions, namespaces } from '../../kube/well-known.ts';
import { type Clock, sleep } from '../../runtime/clock.ts';
import { stringAt } from '../../schema/json.ts';
import { type NamedResource, readResources } from '../kind-name.ts';

export const TYPE_CONFIGS: ReturnType<typeof resourceIdOf> = resourceIdOf(FEDERATED_TYPE_CONFIG);
const FIELD_MANAGER = 'atoll-cli';
const POLICIES: ResourceId = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  resource: 'validatingadmissionpolicies',
  kind: 'ValidatingAdmissionPolicy',
  namespaced: false,
};
const NAMESPACES: ApiResource = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  pluralName: 'namespaces',
  scope: 'Cluster',
};
const STEP_MS = 200;
const PATIENCE_MS = 10_000;

/** Where types are enabled, and how what is made is called. */
export interface TypeOptions {
  /** The namespace of the control plane. */
  readonly kubefedNamespace: string;
  readonly federatedGroup?: string;
  readonly federatedVersion?: string;
  /** Of the target; the preferred one where nothing is said. */
  readonly targetVersion?: string;
  readonly dryRun?: boolean;
}

export interface EnabledType {
  readonly name: string;
  readonly kind: string;
  /** `false` where no hub took it up while there was time to wait. */
  readonly running: boolean;
}

/** Types of the API, as names are looked up among. */
export async function readTypes(client: Client): Promise<ApiType[]> {
  return (await readResources(client)).map(apiTypeOf);
}

function apiTypeOf({
  group,
  version,
  kind,
  resource,
  singular,
  shortNames,
  namespaced,
}: NamedResource): ApiType {
  return { group, version, kind, plural: resource, singular, shortNames, namespaced };
}

/** The federated type of a type of the API. Its namespaced federated kinds stand beside what they stand for. */
export function federatedTypeIn(type: ApiType, options: TypeOptions): FederatedType {
  return federatedTypeFor(
    {
      group: type.group,
      version: options.targetVersion ?? type.version,
      kind: type.kind,
      pluralName: type.plural,
      scope: type.namespaced ? 'Namespaced' : 'Cluster',
    },
    options.federatedGroup ?? FEDERATED_GROUP,
    options.federatedVersion ?? FEDERATED_VERSION,
  );
}

/** The type that a name means. Throws an Error that says what could be meant instead. */
export function typeNamed(name: string, types: readonly ApiType[]): ApiType {
  const found = resolveType(name, types);
  if ('problem' in found) throw new Error(found.problem);
  return found;
}

/** Types that are enabled, by the names of their configs. Empty where no hub has any. */
export async function enabledTypes(
  client: Client,
  kubefedNamespace: string,
): Promise<ReadonlyMap<string, FederatedTypeConfig>> {
  try {
    const { items } = await client.list<FederatedTypeConfig>(TYPE_CONFIGS, kubefedNamespace);
    return new Map(items.map((config) => [config.metadata.name ?? '', config]));
  } catch (error) {
    if (hasCode(error, 404)) return new Map();
    throw error;
  }
}

/** What enabling a type makes: its config and its kind. */
export async function typeManifests(
  client: Client,
  type: FederatedType,
  { kubefedNamespace }: TypeOptions,
): Promise<readonly KubeObject[]> {
  if (type.federated.group === EARLY_GROUP) return earlyKinds(type.target).map(customResourceDefinition);
  return [await federatedDefinition(client, type), typeConfigOf(type, kubefedNamespace)];
}

/**
 * Enables types by name; the usual ten where none is given. What is enabled already stays as it is. Throws an Error where a type is
 * federated as something else.
 */
export async function enableTypes(
  clock: Clock,
  client: Client,
  names: readonly string[],
  options: TypeOptions,
): Promise<readonly EnabledType[]> {
  const types = await readTypes(client);
  const wanted = (names.length === 0 ? DEFAULT_TYPES : names).map((name) =>
    federatedTypeIn(typeNamed(name, types), options),
  );
  const present = await enabledTypes(client, options.kubefedNamespace);
  for (const type of wanted) {
    const problem = enableProblem(present.get(typeConfigName(type.target)), type);
    if (problem !== undefined) throw new Error(problem);
  }
  if (options.dryRun === true) return wanted.map((type) => enabledAs(type, false));
  if (options.federatedGroup === EARLY_GROUP) return enableEarly(clock, client, wanted);
  await ensureControlPlane(clock, client, options.kubefedNamespace);
  for (const type of wanted) await enableOne(client, type, options.kubefedNamespace);
  const deadline = clock.monotonic() + PATIENCE_MS;
  const out: EnabledType[] = [];
  for (const type of wanted)
    out.push(
      enabledAs(type, await isSaid(clock, client, type, options.kubefedNamespace, 'Running', deadline)),
    );
  return out;
}

function enabledAs(type: FederatedType, running: boolean): EnabledType {
  return { name: typeConfigName(type.target), kind: type.federated.kind, running };
}

async function enableEarly(
  clock: Clock,
  client: Client,
  types: readonly FederatedType[],
): Promise<readonly EnabledType[]> {
  for (const type of types) for (const kind of earlyKinds(type.target)) await installKind(client, kind);
  // A federation has namespaces, whether somebody names them or not.
  for (const kind of [...earlyKinds(NAMESPACES), FEDERATION_PLACEMENT]) await installKind(client, kind);
  const running = await areAuthorsKnown(clock, client);
  return types.map((type) => enabledAs(type, running));
}

/** Waits until the hub writes down who writes: what is written before has no author. */
async function areAuthorsKnown(clock: Clock, client: Client): Promise<boolean> {
  const deadline = clock.monotonic() + PATIENCE_MS;
  for (;;) {
    try {
      await client.get(POLICIES, '', AUTHOR_POLICY);
      return true;
    } catch (error) {
      if (!hasCode(error, 404)) throw error;
    }
    if (clock.monotonic() >= deadline) return false;
    await sleep(clock, STEP_MS);
  }
}

async function ensureControlPlane(clock: Clock, client: Client, name: string): Promise<void> {
  await ignoring(409, client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }));
  await installKind(client, FEDERATED_TYPE_CONFIG);
  const deadline = clock.monotonic() + PATIENCE_MS;
  while (clock.monotonic() < deadline) {
    try {
      await client.list(TYPE_CONFIGS, name, { limit: 1 });
      return;
    } catch (error) {
      if (!hasCode(error, 404)) throw error;
      await sleep(clock, STEP_MS);
    }
  }
  throw new Error(
    'the hub does not serve FederatedTypeConfigs: kubectl describe crd federatedtypeconfigs.core.kubefed.io tells why',
  );
}

async function enableOne(client: Client, type: FederatedType, namespace: string): Promise<void> {
  const config = typeConfigOf(type, namespace);
  try {
    await client.create(TYPE_CONFIGS, config, { fieldManager: FIELD_MANAGER });
  } catch (error) {
    if (!hasCode(error, 409)) throw error;
    const patch = { spec: { propagation: 'Enabled', targetType: config.spec.targetType } };
    await client.patch(TYPE_CONFIGS, namespace, config.metadata.name ?? '', 'merge', patch);
  }
}

/** Waits for what the hub says of a type. */
async function isSaid(
  clock: Clock,
  client: Client,
  { target }: Pick<FederatedType, 'target'>,
  namespace: string,
  word: 'Running' | 'NotRunning',
  deadline: number,
): Promise<boolean> {
  for (;;) {
    const config = await client.get<FederatedTypeConfig>(TYPE_CONFIGS, namespace, typeConfigName(target));
    const { propagationController, observedGeneration } = config.status ?? {};
    if (propagationController === word && observedGeneration === config.metadata.generation) return true;
    if (clock.monotonic() >= deadline) return false;
    await sleep(clock, STEP_MS);
  }
}

export interface DisabledType {
  readonly name: string;
  readonly kind: string;
  /** Whether its kind was deleted too. */
  readonly deletedKind: boolean;
}

/** Stops the propagation of a type. What it brought to clusters stays there. Throws where it is not enabled. */
export async function disableType(
  clock: Clock,
  client: Client,
  name: string,
  options: TypeOptions & { readonly deleteCrd: boolean },
): Promise<DisabledType> {
  const { kubefedNamespace: namespace, deleteCrd } = options;
  const enabled = await enabledTypes(client, namespace);
  const config = enabled.get(name) ?? enabled.get(typeNameOf(name, await readTypes(client)));
  if (!config)
    throw new Error(
      `the type ${name} is not enabled in ${namespace}; enabled are ${[...enabled.keys()].join(', ') || 'none'}`,
    );
  const type = federatedTypeOf(config);
  const { kind, group = '', version, pluralName, scope } = type.federated;
  const resource = { group, version, kind, resource: pluralName, namespaced: scope === 'Namespaced' };
  const done = { name: config.metadata.name ?? '', kind };
  if (deleteCrd && (await client.list(resource, '', { limit: 1 })).items.length > 0)
    throw new Error(`there are ${kind} objects: delete them before their kind, or leave --delete-crd out`);
  if (options.dryRun === true) return { ...done, deletedKind: deleteCrd };
  await client.patch(TYPE_CONFIGS, namespace, done.name, 'merge', { spec: { propagation: 'Disabled' } });
  const stopped = await isSaid(clock, client, type, namespace, 'NotRunning', clock.monotonic() + PATIENCE_MS);
  if (!stopped)
    throw new Error(`the hub still propagates ${done.name}: is it running? Nothing was deleted; ask again`);
  if (deleteCrd) await client.delete(customResourceDefinitions, '', `${pluralName}.${group}`);
  await client.delete(TYPE_CONFIGS, namespace, done.name);
  return { ...done, deletedKind: deleteCrd };
}

function typeNameOf(name: string, types: readonly ApiType[]): string {
  const found = resolveType(name, types);
  return 'problem' in found ? name : typeConfigName({ group: found.group, pluralName: found.plural });
}

/** The name in a file that says which type is to be enabled. */
export function directedType(object: KubeObject): {
  readonly name: string;
  readonly options: Partial<TypeOptions>;
} {
  if (object.kind !== 'EnableTypeDirective')
    throw new Error(`${object.kind} ${object.metadata.name ?? ''} is no EnableTypeDirective`);
  const version = stringAt(object, 'spec', 'targetVersion');
  const group = stringAt(object, 'spec', 'federatedGroup');
  const made = stringAt(object, 'spec', 'federatedVersion');
  return {
    name: object.metadata.name ?? '',
    options: {
      ...(version === undefined ? {} : { targetVersion: version }),
      ...(group === undefined ? {} : { federatedGroup: group }),
      ...(made === undefined ? {} : { federatedVersion: made }),
    },
  };
}
