import { createHash, createHmac } from 'node:crypto';

export interface AwsKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

export interface AwsRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly service: string;
  readonly region: string;
  /** Names in lower case. `host` and the date are added. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const ALGORITHM = 'AWS4-HMAC-SHA256';

/** The headers that sign a request (AWS Signature Version 4). `now` in milliseconds. */
export function signedHeaders(keys: AwsKeys, request: AwsRequest, now: number): Record<string, string> {
  const url = new URL(request.url);
  const date = amzDate(now);
  const headers: Record<string, string> = {
    ...request.headers,
    host: url.host,
    'x-amz-date': date,
    ...(keys.sessionToken === undefined ? {} : { 'x-amz-security-token': keys.sessionToken }),
  };
  const { names, signature } = sign(keys, request, url, headers, sha256(request.body ?? ''), date);
  const { host: _host, ...sent } = headers;
  return {
    ...sent,
    authorization: `${ALGORITHM} Credential=${keys.accessKeyId}/${scope(request, date)}, SignedHeaders=${names}, Signature=${signature}`,
  };
}

/** A URL that is signed in its query, for others to call. `request.headers` must be sent with it. */
export function presignedUrl(
  keys: AwsKeys,
  request: AwsRequest,
  expiresSeconds: number,
  now: number,
): string {
  const url = new URL(request.url);
  const date = amzDate(now);
  const headers: Record<string, string> = { ...request.headers, host: url.host };
  const names = Object.keys(headers).sort().join(';');
  const query: Record<string, string> = {
    'X-Amz-Algorithm': ALGORITHM,
    'X-Amz-Credential': `${keys.accessKeyId}/${scope(request, date)}`,
    'X-Amz-Date': date,
    'X-Amz-Expires': String(expiresSeconds),
    'X-Amz-SignedHeaders': names,
    ...(keys.sessionToken === undefined ? {} : { 'X-Amz-Security-Token': keys.sessionToken }),
  };
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  const { signature } = sign(keys, request, url, headers, sha256(''), date);
  return `${url.origin}${url.pathname}?${canonicalQuery(url)}&X-Amz-Signature=${signature}`;
}

function sign(
  keys: AwsKeys,
  request: AwsRequest,
  url: URL,
  headers: Readonly<Record<string, string>>,
  payload: string,
  date: string,
): { names: string; signature: string } {
  const sorted = Object.keys(headers).sort();
  const names = sorted.join(';');
  const canonical = [
    request.method,
    url.pathname,
    canonicalQuery(url),
    ...sorted.map((name) => `${name}:${(headers[name] ?? '').trim().replace(/\s+/g, ' ')}`),
    '',
    names,
    payload,
  ].join('\n');
  const text = [ALGORITHM, date, scope(request, date), sha256(canonical)].join('\n');
  const key = ['aws4_request', request.service, request.region, date.slice(0, 8)].reduceRight<Buffer>(
    (secret, part) => hmac(secret, part),
    Buffer.from(`AWS4${keys.secretAccessKey}`, 'utf8'),
  );
  return { names, signature: hmac(key, text).toString('hex') };
}

function scope({ region, service }: AwsRequest, date: string): string {
  return `${date.slice(0, 8)}/${region}/${service}/aws4_request`;
}

function canonicalQuery(url: URL): string {
  return [...url.searchParams]
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort()
    .join('&');
}

/** RFC 3986, which is stricter than `encodeURIComponent`. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function amzDate(now: number): string {
  return `${new Date(now).toISOString().slice(0, 19).replace(/[-:]/g, '')}Z`;
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
