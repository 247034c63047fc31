import { badRequest } from '../../kube/status-error.ts';
import type { RequestInfo } from './request-info.ts';

/** Subresources whose answers go on for as long as the client wants. */
const LONG_RUNNING: ReadonlySet<string> = new Set(['attach', 'exec', 'log', 'portforward', 'proxy']);
const NUMBER = /^(?:\d+(?:\.\d*)?|\.\d+)/;
const UNITS: ReadonlySet<string> = new Set(['ns', 'us', 'µs', 'μs', 'ms', 's', 'm', 'h']);

/** Refuses a request whose parameter `timeout` is no duration, in Go's words. Throws 400. Streams have no such parameter. */
export function checkTimeout(info: RequestInfo): void {
  const text = info.query.get('timeout') ?? '';
  if (text === '' || info.verb === 'watch' || LONG_RUNNING.has(info.subresource)) return;
  const wrong = durationError(text);
  if (wrong !== undefined) throw badRequest(`invalid timeout specified in the request URL - time: ${wrong}`);
}

/** What is wrong with a duration such as `1m30s`; `undefined` for a good one. */
function durationError(text: string): string | undefined {
  const quoted = JSON.stringify(text);
  let rest = text.replace(/^[+-]/, '');
  if (rest === '0') return undefined;
  do {
    const [number] = NUMBER.exec(rest) ?? [];
    if (number === undefined) return `invalid duration ${quoted}`;
    rest = rest.slice(number.length);
    const [unit = ''] = /^[^.\d]*/.exec(rest) ?? [];
    if (unit === '') return `missing unit in duration ${quoted}`;
    if (!UNITS.has(unit)) return `unknown unit ${JSON.stringify(unit)} in duration ${quoted}`;
    rest = rest.slice(unit.length);
  } while (rest !== '');
  return undefined;
}
