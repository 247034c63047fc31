import {
  REMOTE_OBJECT_KIND,
  RESOURCE_GRAPH_DEFINITION,
  type ResourceGraphDefinition,
} from '../../../dialects/kro/index.ts';
import { LABELS } from '../../../engine/graph/index.ts';
import type { Author } from '../../../engine/intent.ts';
import type { Client, ResourceId } from '../../../kube/client.ts';
import { resourceIdOf } from '../../../kube/custom-resource.ts';
import type { Informer } from '../../../kube/informer.ts';
import { startInformer } from '../../../kube/informer-cache.ts';
import { keepApplied } from '../../../kube/keep-applied.ts';
import type { KubeObject } from '../../../kube/object.ts';
import { StatusError } from '../../../kube/status-error.ts';
import { whoAmI } from '../../../kube/who-am-i.ts';
import { sleep } from '../../../runtime/clock.ts';
import { errorText } from '../../../runtime/log.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import { authorOf, installAuthorPolicy } from '../../policies/dialect-author-policy.ts';
import { whatIsWritten } from '../../policies/match-constraints.ts';

export const DEFINITIONS: ResourceId = resourceIdOf(RESOURCE_GRAPH_DEFINITION);

/** The definitions of the hub, and who wrote them. */
export interface GraphDefinitions {
  readonly informer: Informer<ResourceGraphDefinition>;
  /** Whether all are known, and whether their authors can be believed. */
  readonly ready: boolean;
  whenReady(): Promise<void>;
  author(definition: KubeObject): Author | undefined;
  /** Who wrote the definition that an object of an instance comes from. */
  authorBehind(member: KubeObject): Author | undefined;
  stop(): void;
}

const RETRY_MS = 5_000;
const REMOTE_POLICY = 'atoll.dev-remote-objects';
const POLICIES = 'admissionregistration.k8s.io/v1';

/** Has the hub's API server write down who writes definitions, and keep RemoteObjects for the engine, before anything is said. */
export function openGraphDefinitions(runtime: Runtime, client: Client): GraphDefinitions {
  const { clock, log } = runtime;
  const informer = startInformer<ResourceGraphDefinition>(runtime, client, DEFINITIONS);
  /** Whose word it is; not known at first. */
  let believed: { readonly definitions: boolean; readonly remotes: boolean } | undefined;
  let stopped = false;

  async function install(): Promise<void> {
    while (!stopped && !believed) {
      try {
        believed = {
          definitions: await installAuthorPolicy(client, log, {
            name: 'atoll.dev-graph-author',
            groups: [RESOURCE_GRAPH_DEFINITION.group],
            resources: [RESOURCE_GRAPH_DEFINITION.plural],
          }),
          remotes: await keepForEngine(client),
        };
      } catch (error) {
        log.warn('authors of resource graphs are not known yet', { why: errorText(error) });
        await sleep(clock, RETRY_MS);
      }
    }
  }

  const installed = install();
  const author = (definition: KubeObject): Author | undefined =>
    believed?.definitions === true ? authorOf(definition) : undefined;
  return {
    informer,
    get ready() {
      return believed !== undefined && informer.synced;
    },
    async whenReady(): Promise<void> {
      await Promise.all([installed, informer.whenSynced()]);
    },
    author,
    authorBehind(member) {
      if (believed?.remotes !== true) return undefined;
      const id = member.metadata.labels?.[LABELS.graphId];
      const definition = informer.list().find(({ metadata }) => metadata.uid === id);
      return definition && author(definition);
    },
    stop(): void {
      stopped = true;
      informer.stop();
    },
  };
}

/** Nobody else writes what RemoteObjects say: their labels tell whose rights they are carried out with. False where that cannot be had. */
async function keepForEngine(client: Client): Promise<boolean> {
  const engine = await whoAmI(client);
  if (!engine) return false;
  try {
    for (const object of remotePolicy(engine.username)) await keepApplied(client, object, 'atoll');
    return true;
  } catch (error) {
    if (error instanceof StatusError && (error.code === 403 || error.code === 404)) return false;
    throw error;
  }
}

function remotePolicy(engine: string): KubeObject[] {
  const labels = (of: string): string => `(has(${of}.metadata.labels) ? ${of}.metadata.labels : {})`;
  return [
    {
      apiVersion: POLICIES,
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: REMOTE_POLICY },
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: whatIsWritten([REMOTE_OBJECT_KIND.group], [REMOTE_OBJECT_KIND.plural]),
        matchConditions: [
          {
            name: 'says-something-else',
            expression: `oldObject == null || object.spec != oldObject.spec || ${labels('object')} != ${labels('oldObject')}`,
          },
        ],
        validations: [
          {
            expression: `request.userInfo.username == ${JSON.stringify(engine)}`,
            message: 'only the engine writes RemoteObjects: change the instance that it belongs to',
            reason: 'Forbidden',
          },
        ],
      },
    },
    {
      apiVersion: POLICIES,
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name: REMOTE_POLICY },
      spec: { policyName: REMOTE_POLICY, validationActions: ['Deny'] },
    },
  ];
}
