import { badRequest } from '../../kube/status-error.ts';
import { durationProblem } from '../../schema/go-duration.ts';
import type { RequestInfo } from './request-info.ts';

/** Subresources whose answers go on for as long as the client wants. */
const LONG_RUNNING: ReadonlySet<string> = new Set(['attach', 'exec', 'log', 'portforward', 'proxy']);

/** Refuses a request whose parameter `timeout` is no duration, in Go's words. Throws 400. Streams have no such parameter. */
export function checkTimeout(info: RequestInfo): void {
  const text = info.query.get('timeout') ?? '';
  if (text === '' || info.verb === 'watch' || LONG_RUNNING.has(info.subresource)) return;
  const wrong = durationProblem(text);
  if (wrong !== undefined) throw badRequest(`invalid timeout specified in the request URL - time: ${wrong}`);
}
