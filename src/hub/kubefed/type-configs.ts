import {
  type ApiResource,
  EARLY_GROUP,
  FEDERATED_GROUP,
  FEDERATED_TYPE_CONFIG,
  type FederatedType,
  type FederatedTypeConfig,
  federatedKind,
  reportTypeConfig,
} from '../../dialects/kubefed/index.ts';
import type { Client } from '../../kube/client.ts';
import { type CustomKind, customResourceDefinition, resourceIdOf } from '../../kube/custom-resource.ts';
import type { Informer } from '../../kube/informer.ts';
import type { KubeObject } from '../../kube/object.ts';
import { hasCode, ignoring } from '../../kube/status-error.ts';
import { formatTime } from '../../runtime/clock.ts';
import { errorText } from '../../runtime/log.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { deepEqual, isObject, listAt, stringAt } from '../../schema/json.ts';
import type { OpenApiSchema, TypeSchema } from '../../schema/open-api-schema.ts';
import { refName } from '../../schema/open-api-schema.ts';
import { installAuthorPolicy } from '../policies/dialect-author-policy.ts';
import type { ControlPlane } from './control-plane.ts';
import type { Federation } from './federation.ts';
import { installKind, isMade, KUBEFED_KINDS, madeFrom } from './kinds.ts';
import { startCountedController } from './metrics.ts';
import { installValidation } from './validation-policy.ts';

const GATHER_MS = 20;
const TYPE_CONFIGS = resourceIdOf(FEDERATED_TYPE_CONFIG);
const PASS = 'types';
/** Groups of the kinds that people write, and that an author is written into. */
const AUTHORED = [FEDERATED_GROUP, EARLY_GROUP];
/** Raised when the generated kinds change. */
const FORM = 1;

export interface TypeConfigsOptions {
  /** The engine's own: definitions of kinds and policies are its business. */
  readonly client: Client;
  readonly controlPlane: ControlPlane;
  readonly definitions: Informer;
  readonly federation: Federation;
}

export interface TypeConfigs {
  /** Whether what objects say of their author is the API server's word. */
  readonly authorsBelieved: boolean;
  stop(): Promise<void>;
}

/**
 * Makes the kind of each type that is enabled, and says in the status of its config what runs. As soon as one kind of KubeFed is
 * there all others are made: who uses none of it has none of it.
 */
export async function startTypeConfigs(
  runtime: Runtime,
  { client, controlPlane, definitions, federation }: TypeConfigsOptions,
): Promise<TypeConfigs> {
  /** Those whose kinds are guarded by policies. */
  let guarded: readonly string[] = [];
  let authorsBelieved = false;
  const firstGuarded = Promise.withResolvers<void>();
  const loop = startCountedController(runtime, { name: 'kubefed-types', reconcile: pass });
  const soon = (): void => loop.enqueue(PASS, GATHER_MS);
  const unsubscribe = [
    federation.onTypes(soon),
    controlPlane.onRefusal(soon),
    definitions.onChange(({ type, object }) => {
      if (type !== 'updated' && isOfKubeFed(stringAt(object, 'spec', 'group') ?? '')) soon();
    }),
  ];
  await definitions.whenSynced();
  // Before the first intent is looked at: one that has an author today and none tomorrow is another one for its spokes. Tried again
  // until it comes off: what has been started by now must not be started twice.
  if (isUsed())
    await guard().catch((error: unknown) => {
      runtime.log.warn('what guards federated kinds cannot be installed yet', { why: errorText(error) });
      soon();
      return firstGuarded.promise;
    });
  soon();

  function isUsed(): boolean {
    return definitions.list().some((definition) => isOfKubeFed(stringAt(definition, 'spec', 'group') ?? ''));
  }

  function isModern(): boolean {
    return definitions
      .list()
      .some((definition) => (stringAt(definition, 'spec', 'group') ?? '').endsWith('kubefed.io'));
  }

  async function pass(): Promise<void> {
    if (isUsed()) await guard();
    firstGuarded.resolve();
    if (!isUsed()) return;
    // Who uses the early form alone has no other.
    for (const kind of isModern() ? KUBEFED_KINDS : [])
      if (!isMade(definitions.get('', `${kind.plural}.${kind.group}`), madeFrom(kind)))
        await installKind(client, kind);
    for (const entry of federation.types()) if (entry.type) await serve(entry.type);
    for (const config of federation.typeConfigs()) await report(config);
  }

  async function serve(type: FederatedType): Promise<void> {
    const { group = '', pluralName } = type.federated;
    const { target, federated } = type;
    const digest = madeFrom({ form: FORM, target, federated });
    if (isMade(definitions.get('', `${pluralName}.${group}`), digest)) return;
    await installKind(client, await federatedKindOf(client, type), digest);
  }

  /** Federated kinds may be of any group: who writes them is written down in all, and what they write looked at. */
  async function guard(): Promise<void> {
    const own = [...federation.types()].flatMap(({ type }) => type?.federated.group ?? []);
    const wanted = [...new Set([...AUTHORED, ...own.sort()])];
    if (deepEqual(wanted, guarded)) return;
    authorsBelieved = await installAuthorPolicy(client, runtime.log, wanted);
    await installValidation(client, runtime.log, wanted);
    guarded = wanted;
    federation.refresh();
  }

  async function report(config: FederatedTypeConfig): Promise<void> {
    const entry = [...federation.types()].find((item) => item.config?.metadata.uid === config.metadata.uid);
    const isNamespaced = entry?.type?.target.scope === 'Namespaced';
    const propagating =
      entry?.type?.propagates === true &&
      entry.watch.resource !== undefined &&
      entry.watch.synced &&
      !entry.watch.refused &&
      !federation.blind &&
      (!isNamespaced || federation.settings.scope === 'Namespaced' || federation.namespaces !== undefined);
    const { group = '', pluralName = '' } = entry?.type?.federated ?? {};
    const refused = entry && controlPlane.refusal(`${pluralName}.${group}`);
    const found = {
      generation: config.metadata.generation ?? 0,
      propagating,
      // Of objects of its own kind: a status within the federated object needs nothing to run.
      collecting: propagating && entry?.type?.collectsStatus === true && config.spec.statusType !== undefined,
      ...(refused === undefined
        ? {}
        : { refused: { message: refused, now: formatTime(runtime.clock.now()) } }),
    };
    const status = reportTypeConfig(found, config.status);
    if (deepEqual(status, config.status)) return;
    const told = {
      ...status,
      ...(config.status?.conditions && !status.conditions ? { conditions: null } : {}),
    };
    const { namespace = '', name = '' } = config.metadata;
    await ignoring(
      [404, 409],
      controlPlane.client.patch(
        TYPE_CONFIGS,
        namespace,
        name,
        'merge',
        { status: told },
        { subresource: 'status' },
      ),
    );
  }

  return {
    get authorsBelieved() {
      return authorsBelieved;
    },
    async stop(): Promise<void> {
      for (const end of unsubscribe) end();
      await loop.stop();
    },
  };
}

function isOfKubeFed(group: string): boolean {
  return group === 'kubefed.io' || group.endsWith('.kubefed.io') || group === EARLY_GROUP;
}

async function federatedKindOf(client: Client, type: FederatedType): Promise<CustomKind> {
  const { target } = type;
  return federatedKind(type, await schemaOf(client, target), await shortNamesOf(client, target));
}

/** The definition that enabling a type makes. */
export async function federatedDefinition(client: Client, type: FederatedType): Promise<KubeObject> {
  return customResourceDefinition(await federatedKindOf(client, type));
}

/** The schema of a type as the hub publishes it; undefined where the hub does not serve it. */
async function schemaOf(client: Client, target: ApiResource): Promise<TypeSchema | undefined> {
  const { group = '', version, kind } = target;
  const path = group === '' ? `api/${version}` : `apis/${group}/${version}`;
  const document = await ignoring(
    404,
    client.getJson<{ components?: { schemas?: Record<string, OpenApiSchema> } }>(`/openapi/v3/${path}`),
  );
  const schemas = document?.components?.schemas ?? {};
  const schema = Object.values(schemas).find((item) =>
    (item['x-kubernetes-group-version-kind'] ?? []).some(
      (gvk) => gvk.group === group && gvk.version === version && gvk.kind === kind,
    ),
  );
  return schema && { schema, resolve: (name) => schemas[refName(name)] };
}

async function shortNamesOf(
  client: Client,
  { group = '', version, pluralName }: ApiResource,
): Promise<string[]> {
  try {
    const list = await client.getJson(group === '' ? `/api/${version}` : `/apis/${group}/${version}`);
    const found = listAt(list, 'resources').find((item) => stringAt(item, 'name') === pluralName);
    return listAt(isObject(found) ? found : {}, 'shortNames').filter((name) => typeof name === 'string');
  } catch (error) {
    if (hasCode(error, 404)) return [];
    throw error;
  }
}
