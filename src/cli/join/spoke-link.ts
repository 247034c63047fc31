import type { Client } from '../../kube/client.ts';
import type { Handler, Upgrader } from '../../kube/exchange.ts';
import type { DialerState } from '../../link/index.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { pinTrust, readTrust, takeOver, watchTrust } from '../../spoke/trust.ts';
import type { CredentialPlace } from '../key-store.ts';
import { dialHub } from '../link-ends.ts';
import { chooseHub, isSameHub } from './hub-choice.ts';
import { hubSwitch } from './hub-switch.ts';
import type { JoinedHub } from './join-file.ts';

/** How long the hub that was connected may be away before another is dialled, at the most. */
const GRACE_MS = 60_000;

/** Where the hubs come from that a spoke knows. */
export interface HubSource {
  current(): readonly JoinedHub[];
  /** Calls back when they change; returns what stops that. Absent where they never do. */
  follow?(onChange: (hubs: readonly JoinedHub[]) => void): () => void;
}

export interface SpokeLinkOptions {
  readonly cluster: string;
  /** The spoke's own API, with its engine's rights. */
  readonly client: Client;
  readonly hubs: HubSource;
  readonly credentials: (hub: JoinedHub) => CredentialPlace;
  /** Answers the hub's requests, with the hub's rights. */
  readonly serve: Handler;
  readonly serveUpgrade?: Upgrader;
  readonly graceMs?: number;
  /** The spoke hands itself over to the hub that lets it in when its own was out of reach for so long; never where nothing is said. */
  readonly switchAfterMs?: number | undefined;
  readonly onState?: (hub: JoinedHub, state: DialerState) => void;
}

/** Makes the spoke the first hub's, unless it is some hub's already. To be done before its engine looks at any order. */
export async function pinFirst(
  runtime: Pick<Runtime, 'log'>,
  client: Client,
  hubs: readonly JoinedHub[],
): Promise<void> {
  const [first] = hubs;
  if (!first) return;
  const pinned = await pinTrust(client, first.trust);
  if (hubs.some((hub) => hub.trust.lineage === pinned.lineage)) return;
  runtime.log.warn('this spoke belongs to a hub that it is not told how to reach', {
    hub: pinned.lineage,
    remedy: `to make it ${first.name}'s: atoll takeover --join <join data>`,
  });
}

/** Keeps a spoke connected to one of its hubs: to the one that it belongs to, where that is there. */
export function startSpokeLink(runtime: Runtime, options: SpokeLinkOptions): { close(): Promise<void> } {
  const { cluster, client, hubs, credentials, serve, serveUpgrade, switchAfterMs, onState } = options;
  const graceMs =
    options.graceMs ?? (switchAfterMs === undefined ? undefined : Math.min(GRACE_MS, switchAfterMs));
  const change =
    switchAfterMs === undefined
      ? undefined
      : hubSwitch(runtime, {
          afterMs: switchAfterMs,
          lookForOwner: () => choice.reconsider(),
          takeOver: async (hub, why) => void (await takeOver(runtime, client, hub.trust, why)),
        });

  /** While a hub cannot be reached: it may be told to be elsewhere by now, or to be another one. */
  function lookAgain(hub: JoinedHub): void {
    const known = hubs.current();
    if (!known.some((other) => isSameHub(other, hub))) choice.reconsider(known);
  }

  const choice = chooseHub(runtime, {
    hubs: hubs.current(),
    owner: async () => {
      const lineage = (await readTrust(client))?.lineage;
      change?.owned(lineage);
      return lineage;
    },
    ...(graceMs === undefined ? {} : { graceMs }),
    dial: (hub, tell) => {
      change?.dialled(hub);
      return dialHub(runtime, hub, {
        cluster,
        credentials: credentials(hub),
        latest: () => hubs.current().find((other) => other.trust.lineage === hub.trust.lineage),
        serve,
        ...(serveUpgrade === undefined ? {} : { serveUpgrade }),
        onState(state): void {
          tell(state);
          change?.told(hub, state);
          onState?.(hub, state);
          if (state.phase === 'waiting') lookAgain(hub);
        },
      });
    },
  });
  // With one hub for good there is nothing to choose.
  const single = hubs.follow === undefined && hubs.current().length < 2;
  const stopTrust = single ? undefined : watchTrust(runtime, client, () => choice.reconsider());
  const stopHubs = hubs.follow?.((next) => choice.reconsider(next));
  return {
    async close(): Promise<void> {
      stopTrust?.();
      stopHubs?.();
      change?.close();
      await choice.close();
    },
  };
}
