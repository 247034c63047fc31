import {
  CONFIG_NAME,
  DEFAULT_NAMESPACE,
  KUBEFED_CONFIG,
  type KubeFedConfig,
} from '../../dialects/kubefed/index.ts';
import type { Author } from '../../engine/intent.ts';
import type { Client } from '../../kube/client.ts';
import { resourceIdOf } from '../../kube/custom-resource.ts';
import type { EventRecorder } from '../../kube/events.ts';
import type { Request, Response } from '../../kube/exchange.ts';
import type { Informer } from '../../kube/informer.ts';
import { startInformer } from '../../kube/informer-cache.ts';
import type { Condition } from '../../kube/object.ts';
import { createClient } from '../../kube/rest-client.ts';
import { failure, ignoring } from '../../kube/status-error.ts';
import { serviceAccounts } from '../../kube/well-known.ts';
import { formatTime } from '../../runtime/clock.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { deepEqual } from '../../schema/json.ts';
import { type KindWatch, type Seat, watchKind } from './kind-watch.ts';
import { startCountedController } from './metrics.ts';
import { createRefusals } from './refusals.ts';

/** The account that a control plane of one namespace acts for. */
export const CONTROLLER_ACCOUNT = 'kubefed-controller';

const CONFIGS = resourceIdOf(KUBEFED_CONFIG);
const GATHER_MS = 200;
const PASS = 'control-plane';
const CONDITION = 'Authorized';
const NEXT =
  'Next: apply examples/kubefed-namespaced.yaml with this namespace, which has the ServiceAccount, its Role and RoleBinding';

/**
 * Where the control plane is, and with whose rights it acts. That of one namespace acts for the service account
 * `kubefed-controller` there and sees nothing else; that of the cluster acts as the engine does. Which of both there is says
 * the KubeFedConfig, which the engine itself reads: it is what tells the two apart.
 */
export interface ControlPlane extends Seat {
  /** For all that the control plane reads and writes at the hub. While there is no account to act for it is refused everything. */
  readonly client: Client;
  readonly config: KubeFedConfig | undefined;
  /** Of the KubeFedConfig, where there is one. */
  readonly home: string;
  /** Who acts, where the control plane is of one namespace. */
  readonly author: Author | undefined;
  /** Whether objects of a namespace ('' for those in none) are any business of it. */
  sees(namespace: string): boolean;
  /** What it may not do, of resources given as `plural.group`; of all where nothing is given. In words, with what to do. */
  refusal(resource?: string): string | undefined;
  /** Hears when what is refused changed. */
  onRefusal(listener: () => void): () => void;
  stop(): Promise<void>;
}

export interface ControlPlaneOptions {
  readonly client: Client;
  readonly definitions: Informer;
  /** The engine's own: what a control plane lacks is told even where it may tell nothing. */
  readonly events: EventRecorder;
}

export function openControlPlane(
  runtime: Runtime,
  { client: engine, definitions, events }: ControlPlaneOptions,
): ControlPlane {
  const { clock } = runtime;
  const listeners = new Set<() => void>();
  const refusalListeners = new Set<() => void>();
  let account: { readonly namespace: string; readonly informer: Informer } | undefined;
  /** What listeners were told last. */
  let told = '';
  let stopped = false;
  const loop = startCountedController(runtime, { name: 'kubefed-control-plane', reconcile: report });
  const refusals = createRefusals(clock, () => {
    for (const listener of refusalListeners) listener();
    loop.enqueue(PASS, GATHER_MS);
  });
  const configs: KindWatch<KubeFedConfig> = watchKind<KubeFedConfig>(runtime, engine, definitions, {
    definition: `${KUBEFED_CONFIG.plural}.${KUBEFED_CONFIG.group}`,
    version: KUBEFED_CONFIG.version,
    onChange({ type, object, previous }) {
      if (type === 'updated' && deepEqual(object.spec, previous?.spec)) return;
      look();
      tell();
    },
    onServed: look,
  });
  definitions.whenSynced().then(look, () => undefined);
  look();

  function theConfig(): KubeFedConfig | undefined {
    const named = configs.list().filter(({ metadata }) => metadata.name === CONFIG_NAME);
    return named.find(({ metadata }) => metadata.namespace === DEFAULT_NAMESPACE) ?? named[0];
  }

  /** The namespace of a control plane of one. */
  function only(): string | undefined {
    const config = theConfig();
    return config?.spec.scope === 'Namespaced' ? (config.metadata.namespace ?? '') : undefined;
  }

  function isThere(): boolean {
    return account?.informer.get(account.namespace, CONTROLLER_ACCOUNT)?.metadata.uid !== undefined;
  }

  function isKnown(): boolean {
    return configs.synced && (only() === undefined || account?.informer.synced === true);
  }

  function seatNamespace(): string | undefined {
    if (!isKnown()) return undefined;
    const namespace = only();
    if (namespace === undefined) return '';
    return isThere() ? namespace : undefined;
  }

  /** A token of an account that is gone is worth nothing; who acts for it without one has to look. */
  function look(): void {
    if (stopped) return;
    const namespace = only();
    if (account?.namespace !== namespace) {
      account?.informer.stop();
      account = undefined;
      if (namespace !== undefined) {
        const informer = startInformer(runtime, engine, serviceAccounts, {
          namespace,
          fieldSelector: `metadata.name=${CONTROLLER_ACCOUNT}`,
        });
        account = { namespace, informer };
        informer.onChange(look);
        informer.whenSynced().then(look, () => undefined);
      }
    }
    const now = JSON.stringify([isKnown(), seatNamespace(), theConfig()?.metadata.uid]);
    if (now === told) return;
    told = now;
    refusals.clear();
    tell();
    loop.enqueue(PASS, GATHER_MS);
  }

  function tell(): void {
    for (const listener of listeners) listener();
  }

  function userIn(namespace: string): string {
    return `system:serviceaccount:${namespace}:${CONTROLLER_ACCOUNT}`;
  }

  async function handle(request: Request): Promise<Response> {
    const namespace = only();
    if (namespace === undefined && configs.synced) return engine.handler(request);
    if (namespace === undefined || seatNamespace() === undefined)
      throw failure(403, 'Forbidden', missing() ?? 'it is not known yet for whom KubeFed acts here');
    const response = await engine.handler({
      ...request,
      headers: { ...request.headers, 'impersonate-user': userIn(namespace) },
    });
    refusals.note(request, response.status);
    return response;
  }

  const acting = createClient(handle, { userAgent: 'atoll-kubefed', clock });
  // Which kinds there are is the same for everybody, and known already.
  const client: Client = { ...acting, resourceFor: engine.resourceFor };

  function missing(): string | undefined {
    const namespace = only();
    if (namespace === undefined || !isKnown() || isThere()) return undefined;
    return `there is no ServiceAccount ${namespace}/${CONTROLLER_ACCOUNT}, for which the control plane of this namespace acts, so it does nothing. ${NEXT}`;
  }

  function refusal(resource?: string): string | undefined {
    const namespace = only();
    if (namespace === undefined) return undefined;
    const lacking = refusals.list(resource);
    if (lacking.length === 0) return undefined;
    return `${userIn(namespace)} may not ${lacking.join(', ')} in ${namespace}. ${NEXT}`;
  }

  /** In the status of the KubeFedConfig, and as its event, since whoever may do nothing can tell nothing. */
  async function report(): Promise<undefined> {
    const config = theConfig();
    if (!config || !isKnown()) return;
    const before = config.status?.conditions?.find(({ type }) => type === CONDITION);
    const problem = missing() ?? refusal();
    const reason = missing() === undefined ? (problem === undefined ? 'Allowed' : 'Forbidden') : 'NoAccount';
    const status = problem === undefined ? 'True' : 'False';
    if (only() === undefined && before === undefined) return;
    const condition: Condition = {
      type: CONDITION,
      status,
      reason,
      message: problem ?? 'nothing was refused that the control plane did',
      lastTransitionTime: before?.status === status ? before.lastTransitionTime : formatTime(clock.now()),
    };
    const conditions = only() === undefined ? null : [condition];
    if (conditions !== null && deepEqual(before, condition)) return;
    const { namespace = '', name = '' } = config.metadata;
    // Definitions of others have no such status; then the event is all.
    await ignoring(
      404,
      engine.patch(CONFIGS, namespace, name, 'merge', { status: { conditions } }, { subresource: 'status' }),
    );
    if (problem !== undefined && before?.message !== problem)
      events.record(config, 'Warning', reason, problem);
  }

  return {
    client,
    get known() {
      return isKnown();
    },
    get namespace() {
      return seatNamespace();
    },
    get config() {
      return theConfig();
    },
    get home() {
      return theConfig()?.metadata.namespace ?? DEFAULT_NAMESPACE;
    },
    get author() {
      const namespace = only();
      return namespace === undefined
        ? undefined
        : {
            username: userIn(namespace),
            groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
          };
    },
    sees(namespace) {
      const own = seatNamespace();
      return own === '' || (own !== undefined && own === namespace);
    },
    refusal,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    onRefusal(listener) {
      refusalListeners.add(listener);
      return () => refusalListeners.delete(listener);
    },
    async stop(): Promise<void> {
      stopped = true;
      configs.stop();
      account?.informer.stop();
      refusals.stop();
      await loop.stop();
    },
  };
}
