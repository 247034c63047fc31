import { errorText, type Runtime } from '../runtime/index.ts';
import type { Link } from './link.ts';
import type { ReachedHere } from './peer-server.ts';
import { answersPing } from './pulse.ts';
import type { LinkReason } from './reasons.ts';
import { type Connection, type Holder, type TunnelLink, tunnelLink } from './tunnel-link.ts';

/** Who is connected to this replica of the hub, and the links of all spokes that ever were. */
export interface SpokeConnections {
  readonly links: ReadonlyMap<string, TunnelLink>;
  /** The connection that holds a name, be it up already or being let in. */
  holderOf(spoke: string): Connection | undefined;
  /** From now on the name is this connection's, until it ends. */
  hold(spoke: string, connection: Connection): void;
  /** The connection is let in: the link is up. */
  attach(spoke: string, connection: Connection): void;
  /** Ends a connection for a reason of the hub's own. The link is down at once, not when the socket is. */
  end(connection: Connection, reason: LinkReason, message: string): void;
  /** Whether the connection that holds the name answers. One that does not is ended. */
  alive(spoke: string): Promise<boolean>;
  /** The spoke is no longer welcome. */
  disconnect(spoke: string, message: string): void;
  /** Has admissions under way ask again whether their spokes are welcome. */
  askAgain(): void;
  /** Raised by each disconnect, so that an admission under way asks again whether the spoke is welcome. */
  readonly revocations: number;
  /** How this replica itself reaches a spoke: what it may pass requests of other replicas on to. */
  here(spoke: string): ReachedHere | undefined;
  /** Lets other replicas reach a spoke by a link that only this one has, no tunnel. Returns what ends that. */
  share(link: Link): () => void;
  /** Spokes that are up here. */
  attached(): Iterable<string>;
  /** Calls `listener` when a spoke comes up or goes here. Returns what stops that. */
  onAttached(listener: (spoke: string) => void): () => void;
  /** Another replica says that it has the spoke, or no longer. */
  heldElsewhere(spoke: string, holder: Holder): void;
  releasedElsewhere(spoke: string, holder: Holder, message: string): void;
  close(reason: LinkReason, message: string): void;
}

export function spokeConnections(
  runtime: Runtime,
  options: { readonly pingTimeoutMs: number; readonly onLink: (link: Link) => void },
): SpokeConnections {
  const links = new Map<string, TunnelLink>();
  const live = new Map<string, Connection>();
  const shared = new Map<string, Link>();
  const listeners = new Set<(spoke: string) => void>();
  let revocations = 0;

  function linkOf(spoke: string): TunnelLink {
    const known = links.get(spoke);
    if (known !== undefined) return known;
    const link = tunnelLink(runtime, spoke);
    links.set(spoke, link);
    try {
      options.onLink(link);
    } catch (error) {
      runtime.log.error('a listener for links failed', { spoke, error: errorText(error) });
    }
    return link;
  }

  function release(spoke: string, connection: Connection, reason: LinkReason, message: string): void {
    if (live.get(spoke) !== connection) return;
    live.delete(spoke);
    const link = links.get(spoke);
    const wasUp = link?.local === connection;
    if (wasUp) runtime.log.warn('a link is down', { spoke, reason, message });
    link?.detach(connection, reason, message);
    if (wasUp) tell(spoke);
  }

  function here(spoke: string): ReachedHere | undefined {
    const local = links.get(spoke)?.local;
    if (local !== undefined) return local;
    const link = shared.get(spoke);
    return link?.up === true ? link : undefined;
  }

  function tell(spoke: string): void {
    for (const listener of listeners) listener(spoke);
  }

  function end(connection: Connection, reason: LinkReason, message: string): void {
    connection.end = { reason, message };
    if (connection.spoke !== undefined) release(connection.spoke, connection, reason, message);
    connection.session.destroy();
  }

  return {
    links,
    holderOf: (spoke) => live.get(spoke),
    hold(spoke, connection): void {
      connection.spoke = spoke;
      live.set(spoke, connection);
      connection.session.on('close', () =>
        release(
          spoke,
          connection,
          connection.end?.reason ?? 'ConnectionClosed',
          connection.end?.message ?? 'the connection was closed',
        ),
      );
    },
    attach(spoke, connection): void {
      linkOf(spoke).attach(connection);
      tell(spoke);
    },
    end,
    async alive(spoke): Promise<boolean> {
      const connection = live.get(spoke);
      if (connection === undefined) return false;
      if (await answersPing(runtime, connection.session, options.pingTimeoutMs))
        return live.get(spoke) !== undefined;
      if (live.get(spoke) === connection) end(connection, 'PingTimeout', 'the spoke left a ping unanswered');
      return live.has(spoke);
    },
    askAgain(): void {
      revocations += 1;
    },
    disconnect(spoke, message): void {
      revocations += 1;
      const connection = live.get(spoke);
      if (connection !== undefined) end(connection, 'Disconnected', message);
      links.get(spoke)?.retire('Disconnected', message);
      links.delete(spoke);
    },
    get revocations(): number {
      return revocations;
    },
    here,
    share(link): () => void {
      const { spoke } = link;
      shared.set(spoke, link);
      const stop = link.onChange(() => tell(spoke));
      tell(spoke);
      return () => {
        stop();
        if (shared.get(spoke) !== link) return;
        shared.delete(spoke);
        tell(spoke);
      };
    },
    *attached(): Iterable<string> {
      for (const spoke of new Set([...links.keys(), ...shared.keys()]))
        if (here(spoke) !== undefined) yield spoke;
    },
    onAttached(listener): () => void {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
    heldElsewhere(spoke, holder): void {
      linkOf(spoke).addHolder(holder);
    },
    releasedElsewhere(spoke, holder, message): void {
      links.get(spoke)?.removeHolder(holder, message);
    },
    close(reason, message): void {
      for (const connection of [...live.values()]) end(connection, reason, message);
      for (const link of links.values()) link.retire(reason, message);
    },
  };
}
