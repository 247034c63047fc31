import { badRequest, type FieldError, invalid } from '../../kube/status-error.ts';
import { parseTime } from '../../runtime/index.ts';

/** What a client of `pods/log` wants to see. */
export interface LogQuery {
  readonly container: string | undefined;
  readonly follow: boolean;
  readonly previous: boolean;
  readonly timestamps: boolean;
  /** Milliseconds since the epoch. */
  readonly since: number | undefined;
  readonly tailLines: number | undefined;
  readonly limitBytes: number | undefined;
  /** False when only standard error is wanted, to which nothing is written. */
  readonly output: boolean;
}

const STREAMS = ['All', 'Stdout', 'Stderr'];

/** Throws 400 for what cannot be read and 422 for what makes no sense. */
export function logQuery(query: URLSearchParams, now: number): LogQuery {
  const flag = (name: string): boolean => ['true', '1'].includes(query.get(name) ?? '');
  const number = (name: string): number | undefined => {
    const text = query.get(name);
    if (text === null || text === '') return undefined;
    const value = Number(text);
    if (!/^-?\d{1,15}$/.test(text))
      throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
    return value;
  };
  const problems: FieldError[] = [];
  const tooSmall = (path: string, value: number | undefined, least: number, detail: string): void => {
    if (value !== undefined && value < least) problems.push({ type: 'Invalid', path, value, detail });
  };
  const tailLines = number('tailLines');
  const limitBytes = number('limitBytes');
  const sinceSeconds = number('sinceSeconds');
  const sinceTime = query.get('sinceTime') || undefined;
  const stream = query.get('stream') || 'All';
  const since = parseTime(sinceTime);
  if (sinceTime !== undefined && since === undefined)
    throw badRequest(`sinceTime ${JSON.stringify(sinceTime)} is not a time of RFC 3339`);
  tooSmall('tailLines', tailLines, 0, 'must be greater than or equal to 0');
  tooSmall('limitBytes', limitBytes, 1, 'must be greater than 0');
  if (sinceSeconds !== undefined && sinceTime !== undefined)
    problems.push({
      type: 'Forbidden',
      path: '',
      value: undefined,
      detail: 'at most one of `sinceTime` or `sinceSeconds` may be specified',
    });
  else tooSmall('sinceSeconds', sinceSeconds, 1, 'must be greater than 0');
  if (!STREAMS.includes(stream))
    problems.push({ type: 'NotSupported', path: 'stream', value: stream, detail: '', supported: STREAMS });
  if (problems.length > 0) throw invalid('', 'PodLogOptions', '', problems);
  return {
    container: query.get('container') ?? undefined,
    follow: flag('follow'),
    previous: flag('previous'),
    timestamps: flag('timestamps'),
    since: sinceSeconds === undefined ? since : now - sinceSeconds * 1_000,
    tailLines,
    limitBytes,
    output: stream !== 'Stderr',
  };
}
