import type { SecretName } from '../../../dialects/kro/index.ts';
import type { Client } from '../../../kube/client.ts';
import { startInformer } from '../../../kube/informer-cache.ts';
import type { KubeObject } from '../../../kube/object.ts';
import { secrets } from '../../../kube/well-known.ts';
import { errorText } from '../../../runtime/log.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import { stringAt } from '../../../schema/json.ts';
import type { ClusterClients } from '../cluster-clients.ts';
import { type ClusterWay, type KeptConnection, keepConnected } from '../kept-connection.ts';
import { type Carrying, type CarryingOptions, startCarrying } from './carrying.ts';

/** How the cluster behind a Secret is. */
export interface TargetState {
  readonly word: 'Connecting' | 'Missing' | 'Refused' | 'Unreachable' | 'Ready';
  readonly message: string;
}

/** A cluster that is reached by a Secret for as long as somebody needs it. */
export interface Target {
  readonly state: TargetState;
  /** The way there, while there is one. */
  readonly way: ClusterWay | undefined;
  /** Something is to be done about an object there. */
  enqueue(name: string): void;
  stop(): Promise<void>;
}

export interface TargetOptions extends CarryingOptions {
  /** The hub's own. */
  readonly client: Client;
  readonly clients: ClusterClients;
  readonly secret: SecretName;
  /** Of the kubeconfig in the Secret. */
  readonly key: string;
  onState(): void;
}

/** Where Cluster API has it. */
const CLUSTER_API_KEY = 'value';

export function startTarget(runtime: Runtime, options: TargetOptions): Target {
  const { client, clients, secret, key, onState } = options;
  const where = `${secret.namespace}/${secret.name}`;
  const informer = startInformer(runtime, client, secrets, {
    namespace: secret.namespace,
    fieldSelector: `metadata.name=${secret.name}`,
    onFailure: (error) => {
      if (!kept) become('Missing', `the hub cannot read the Secret ${where}: ${errorText(error)}`);
    },
  });
  let state: TargetState = { word: 'Connecting', message: `the cluster of Secret ${where} is connected to` };
  let kept: KeptConnection | undefined;
  let digest: string | undefined;
  let way: ClusterWay | undefined;
  let carrying: Carrying | undefined;
  let ending: Promise<void> = Promise.resolve();
  let stopped = false;

  function become(word: TargetState['word'], message: string): void {
    if (stopped || (state.word === word && state.message === message)) return;
    state = { word, message };
    onState();
  }

  function follow(object: KubeObject): void {
    const chosen = stringAt(object, 'data', key) === undefined ? CLUSTER_API_KEY : key;
    const found = clients.accessFrom(object, stringAt(object, 'data', chosen) === undefined ? key : chosen);
    if (found.digest === digest) return;
    digest = found.digest;
    const access = { ...found, labels: {} };
    if (kept) kept.use(access);
    else kept = keepConnected(runtime, access, { show, begin });
  }

  function show(word: string, message = ''): void {
    const told = message === '' ? '' : `: ${message}`;
    if (word === 'Ready') become('Ready', '');
    else if (word === 'Refused') become('Refused', `the Secret ${where} is of no use${told}`);
    else if (word === 'Unreachable')
      become('Unreachable', `the cluster of Secret ${where} is not to be reached now${told}`);
    else become('Connecting', `the cluster of Secret ${where} is connected to`);
  }

  function begin(to: ClusterWay): { stop(): Promise<void> } {
    way = to;
    const own = startCarrying(runtime, to, options);
    carrying = own;
    return own;
  }

  function leave(): void {
    digest = undefined;
    way = undefined;
    carrying = undefined;
    const last = kept;
    kept = undefined;
    if (last) ending = ending.then(() => last.stop());
    become('Missing', `there is no Secret ${where}`);
  }

  informer.onChange(({ type, object }) => {
    if (type === 'deleted') leave();
    else follow(object);
  });
  informer.whenSynced().then(
    () => {
      if (!kept) become('Missing', `there is no Secret ${where}`);
    },
    // It was stopped before.
    () => undefined,
  );

  return {
    get state() {
      return state;
    },
    get way() {
      return way;
    },
    enqueue: (name) => carrying?.enqueue(name),
    async stop() {
      stopped = true;
      informer.stop();
      await Promise.all([ending, kept?.stop()]);
    },
  };
}
