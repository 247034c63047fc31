// From its file, not the room's index: every command would load the whole hub before it begins.
import { type AccessNotice, readAccessNotices } from '../hub/access/notice.ts';
import { within } from '../kube/deadline.ts';
import type { Handler, Response } from '../kube/exchange.ts';
import type { HttpHandler } from '../kube/http-handler.ts';
import { createClient } from '../kube/rest-client.ts';
import type { Clock } from '../runtime/clock.ts';
import { systemClock } from '../runtime/system-clock.ts';

/** Paths that lead from a hub to its spokes. */
const TO_SPOKES = /^\/(?:clusters|fleet)(?:\/|$)/;

/** A replica that lets one wait for longer is as good as gone. */
const ANSWER_WITHIN_MS = 2_000;

/** A handler of a hub that gets to the spokes too, and closes what it opened for that. */
export interface WayToSpokes {
  readonly handler: Handler;
  close(): Promise<void>;
}

/**
 * The API server of a hub leads to its spokes where it is Atoll's own. Another one does not know such paths: then the hub tells on
 * which port it serves them, and the user's credential is good there. That is asked when the first such answer comes.
 */
export function wayToSpokes(
  own: Handler,
  open: (notice: AccessNotice) => HttpHandler,
  clock: Clock = systemClock(),
): WayToSpokes {
  let elsewhere: Promise<HttpHandler | undefined> | undefined;
  const find = async (): Promise<HttpHandler | undefined> => {
    const notices = await readAccessNotices(createClient(own, { userAgent: 'atoll-cli' }));
    for (const [index, notice] of notices.entries()) {
      const handler = open(notice);
      // The last one says itself what is wrong with it.
      if (index === notices.length - 1 || (await isThere(clock, handler))) return handler;
      await handler.close();
    }
    return undefined;
  };
  return {
    async handler(request): Promise<Response> {
      if (!TO_SPOKES.test(request.path)) return own(request);
      if (elsewhere === undefined) {
        const answer = await own(request);
        if (!isOfAnother(answer)) return answer;
        elsewhere = find();
        const found = await elsewhere;
        if (found === undefined) {
          if (answer.status !== 404) return answer;
          await discard(answer);
          throw noWay();
        }
        await discard(answer);
        return found(request);
      }
      const found = await elsewhere;
      return found === undefined ? own(request) : found(request);
    },
    async close(): Promise<void> {
      await (await elsewhere)?.close();
    },
  };
}

/** What a server says that does not know the path: text, or that the user may not get it. */
function isOfAnother({ status, headers }: Response): boolean {
  return status === 403 || (status === 404 && !(headers['content-type'] ?? '').includes('json'));
}

/** A replica that was killed may still be named. */
async function isThere(clock: Clock, handler: Handler): Promise<boolean> {
  try {
    await within(clock, ANSWER_WITHIN_MS, async (signal) =>
      discard(await handler({ method: 'GET', path: '/readyz', headers: {}, signal })),
    );
    return true;
  } catch {
    return false;
  }
}

async function discard({ body }: Response): Promise<void> {
  if (!(body instanceof Uint8Array)) await body[Symbol.asyncIterator]().return?.();
}

function noWay(): Error {
  return new Error(
    'the API server of this hub does not lead to its spokes: start the hub with --access-port (atoll hub --help)',
  );
}
