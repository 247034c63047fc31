import { HUB_OBJECT_KIND, type HubObject } from '../../../dialects/kro/index.ts';
import { resourceIdOf } from '../../../kube/custom-resource.ts';
import type { Informer } from '../../../kube/informer.ts';
import { startInformer } from '../../../kube/informer-cache.ts';
import { hasCode } from '../../../kube/status-error.ts';
import type { Timer } from '../../../runtime/clock.ts';
import { errorText } from '../../../runtime/log.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import type { Fleet } from '../../fleet.ts';

/** What instances of spokes want on the hub, read through their links. */
export interface SpokeWishes {
  /** Looks at a spoke, or looks at it no longer; nothing where it is so already. */
  follow(spoke: string, wanted: boolean): void;
  /** `undefined` while what is there now is not known. */
  of(spoke: string): { get(name: string): HubObject | undefined; names(): string[] } | undefined;
  stop(): void;
}

interface Followed {
  /** Once it was found that there are such wishes there. */
  informer?: Informer<HubObject>;
}

const OBJECTS = resourceIdOf(HUB_OBJECT_KIND);
const RETRY_MS = 5_000;

/** One watch for each spoke that may have such wishes, while it is in sight. `onChange` hears of one, or of a spoke as a whole. */
export function spokeWishes(
  runtime: Runtime,
  fleet: Fleet,
  onChange: (spoke: string, name: string | undefined) => void,
): SpokeWishes {
  const followed = new Map<string, Followed>();
  const wanted = new Set<string>();
  const retries = new Map<string, Timer>();
  let stopped = false;

  async function open(spoke: string, attempt: Followed): Promise<void> {
    const session = fleet.session(spoke);
    if (!session) return;
    try {
      // An engine of before does not know them; it is asked again when it comes back.
      await session.client.resourceFor(`${OBJECTS.group}/${OBJECTS.version}`, OBJECTS.kind);
    } catch (error) {
      const there = followed.get(spoke) === attempt;
      if (there) followed.delete(spoke);
      if (hasCode(error, 404)) return;
      runtime.log.debug('what a spoke wants of the hub cannot be read', { spoke, why: errorText(error) });
      // Its link may be up all the time: nothing else would tell to ask again.
      if (there)
        retries.set(
          spoke,
          runtime.clock.after(RETRY_MS, () => look(spoke)),
        );
      return;
    }
    // It went away, and may have come back, meanwhile.
    if (followed.get(spoke) !== attempt) return;
    if (!wanted.has(spoke) || !fleet.session(spoke)?.live) {
      followed.delete(spoke);
      return;
    }
    const informer = startInformer<HubObject>(runtime, session.client, OBJECTS, { resume: false });
    attempt.informer = informer;
    informer.onChange(({ object }) => {
      if (informer.synced) onChange(spoke, object.metadata.name ?? '');
    });
    informer.onLive((live) => {
      if (live) onChange(spoke, undefined);
    });
    informer.whenSynced().then(
      () => onChange(spoke, undefined),
      // Closed before it was read.
      () => undefined,
    );
  }

  function close(spoke: string): void {
    retries.get(spoke)?.cancel();
    retries.delete(spoke);
    followed.get(spoke)?.informer?.stop();
    followed.delete(spoke);
  }

  function look(spoke: string): void {
    const seen = !stopped && wanted.has(spoke) && fleet.session(spoke)?.live === true;
    if (!seen) close(spoke);
    else if (!followed.has(spoke)) {
      retries.get(spoke)?.cancel();
      retries.delete(spoke);
      const attempt: Followed = {};
      followed.set(spoke, attempt);
      open(spoke, attempt).catch((error: unknown) =>
        runtime.log.error('what a spoke wants of the hub cannot be read', { spoke, why: errorText(error) }),
      );
    }
  }

  fleet.onChange(({ spoke, dispatch }) => {
    if (dispatch === undefined) look(spoke);
  });

  return {
    follow(spoke, isWanted) {
      if (isWanted) wanted.add(spoke);
      else wanted.delete(spoke);
      look(spoke);
    },
    of(spoke) {
      const informer = followed.get(spoke)?.informer;
      if (!informer?.synced || !informer.live) return undefined;
      return {
        get: (name) => informer.get('', name),
        names: () => informer.list().map(({ metadata }) => metadata.name ?? ''),
      };
    },
    stop() {
      stopped = true;
      for (const spoke of new Set([...followed.keys(), ...retries.keys()])) close(spoke);
    },
  };
}
