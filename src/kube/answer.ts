import { type Response, readBody } from './exchange.ts';
import { isStatus, type Status, StatusError } from './status-error.ts';

/** Reasons of `metav1.Status` for answers that carry none, such as those of a proxy in between. */
const REASON_OF_CODE: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  406: 'NotAcceptable',
  409: 'Conflict',
  410: 'Expired',
  413: 'RequestEntityTooLarge',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

/** Longest text of a foreign answer that is quoted in an error. */
const QUOTE_LIMIT = 512;
const ERROR_BODY_LIMIT = 1024 * 1024;

/** The body of a successful answer as JSON. Throws `StatusError` for any other answer. */
export async function readJson<T>(response: Response, path: string): Promise<T> {
  if (response.status < 200 || response.status > 299) throw await readFailure(response, path);
  const text = textOf(await readBody(response));
  try {
    return JSON.parse(text) as T;
  } catch (error) {
    throw new StatusError(
      failed(
        502,
        'InternalError',
        `the answer to ${bare(path)} is not JSON: ${JSON.stringify(text.slice(0, QUOTE_LIMIT))}`,
      ),
      { cause: error },
    );
  }
}

/** Without a copy of the bytes, which may be many. */
function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}

/** A failed answer as the error to throw: its Status, or one made from code and text when it has none. */
export async function readFailure(response: Response, path: string): Promise<StatusError> {
  const options = { warnings: warningsOf(response.headers.warning) };
  let text: string;
  try {
    text = Buffer.from(await readBody(response, ERROR_BODY_LIMIT)).toString('utf8');
  } catch (error) {
    return new StatusError(
      failed(response.status, reasonOf(response.status), `${bare(path)} answered ${response.status}`),
      {
        ...options,
        cause: error,
      },
    );
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined; // not JSON: told below from its code and text
  }
  if (isStatus(value)) {
    const status: Status = { ...value, code: value.code ?? response.status };
    return new StatusError(withRetryAfter(status, response.headers['retry-after']), options);
  }
  const location = response.headers.location;
  const what =
    response.status >= 300 && response.status < 400
      ? `redirects are not followed${location === undefined ? '' : ` (to ${location.slice(0, QUOTE_LIMIT)})`}`
      : text.trim().slice(0, QUOTE_LIMIT);
  const message = `${bare(path)} answered ${response.status}${what === '' ? '' : `: ${what}`}`;
  return new StatusError(
    withRetryAfter(
      failed(response.status, reasonOf(response.status), message),
      response.headers['retry-after'],
    ),
    options,
  );
}

/** The texts of a `Warning` header (RFC 7234 5.5), as Kubernetes sends them with agent `-` and code 299. */
export function warningsOf(header: string | undefined): string[] {
  if (header === undefined) return [];
  const out: string[] = [];
  for (const match of header.matchAll(/\d{3} \S+ "((?:[^"\\]|\\.)*)"/g))
    out.push((match[1] ?? '').replace(/\\(.)/g, '$1'));
  return out;
}

function reasonOf(code: number): string {
  return REASON_OF_CODE[code] ?? '';
}

/** Queries may hold selectors and tokens of others: messages name the path only. */
function bare(path: string): string {
  const query = path.indexOf('?');
  return query < 0 ? path : path.slice(0, query);
}

function failed(code: number, reason: string, message: string): Status {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    ...(reason === '' ? {} : { reason }),
    code,
  };
}

function withRetryAfter(status: Status, header: string | undefined): Status {
  const seconds = Number(header);
  if (header === undefined || !Number.isInteger(seconds) || seconds < 0) return status;
  if (status.details?.retryAfterSeconds !== undefined) return status;
  return { ...status, details: { ...status.details, retryAfterSeconds: seconds } };
}
