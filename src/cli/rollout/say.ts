import { ATOLL_API_VERSION } from '../../engine/dispatch/index.ts';
import { ROLLOUT_ACTION, type RolloutAction, type RolloutActionName } from '../../hub/rollouts/index.ts';
import type { Client } from '../../kube/client.ts';
import { resourceIdOf } from '../../kube/custom-resource.ts';
import { nameSuffix, sleep, systemClock, systemRandom } from '../../runtime/index.ts';
import { type AskingOptions, ask } from '../output.ts';
import { selfAt } from '../self.ts';
import { inNamespace, readTarget } from './target.ts';

export interface SayOptions extends AskingOptions {
  readonly namespace?: string;
  readonly message?: string;
}

export type Saying = Pick<RolloutAction['spec'], 'stage' | 'cluster' | 'revision' | 'scope'>;

const ACTIONS = resourceIdOf(ROLLOUT_ACTION);
const PATIENCE_MS = 20_000;
const LOOK_MS = 150;

/** Says something to a rollout and waits for the hub's answer. Ends with 1 where it was refused. */
export function say(
  object: string,
  action: RolloutActionName,
  more: Saying,
  options: SayOptions,
): Promise<void> {
  return ask(options, async ({ hub, paint, print }) => {
    const target = await readTarget(hub.client, object, options.namespace ?? hub.namespace);
    const made = await hub.client.create<RolloutAction>(ACTIONS, {
      apiVersion: ATOLL_API_VERSION,
      kind: ROLLOUT_ACTION.kind,
      metadata: {
        name: `${target.name.slice(0, 40)}-${action.toLowerCase()}-${nameSuffix(systemRandom(), 8)}`,
        namespace: target.saidIn,
      },
      spec: {
        // Servers that write authors down by themselves write over it; others check it.
        author: await selfAt(hub.client),
        target: { kind: target.kind, name: target.name },
        action,
        ...more,
        ...(options.message === undefined ? {} : { message: options.message }),
      },
    });
    const answer = await answerTo(hub.client, made);
    print(answer, ({ status }) => {
      if (status?.state === undefined)
        return `The hub has not answered yet. It will: kubectl get rolloutactions -n ${target.saidIn} ${made.metadata.name ?? ''}\n`;
      const word = status.state === 'Done' ? paint('good', 'Done') : paint('bad', 'Refused');
      return `${word}: ${status.message ?? ''}\nSee: atoll rollout status ${object}${inNamespace(target)}\n`;
    });
    return answer.status?.state === 'Done' ? 0 : 1;
  });
}

/** The action with the hub's answer, or as it is when patience ends. */
async function answerTo(client: Client, made: RolloutAction): Promise<RolloutAction> {
  const clock = systemClock();
  const until = clock.monotonic() + PATIENCE_MS;
  const { namespace = '', name = '' } = made.metadata;
  for (;;) {
    const found = await client.get<RolloutAction>(ACTIONS, namespace, name);
    if (found.status?.state !== undefined || clock.monotonic() > until) return found;
    await sleep(clock, LOOK_MS);
  }
}
