import { BrokenPipe, type ByteSink, type ByteSource } from '../../streams/byte-pipe.ts';
import type { Pod } from '../kinds.ts';
import { containersOf } from './pod-facts.ts';
import { inputOf } from './process.ts';

/** The TCP ports that the containers of a pod say they listen on. */
export function declaredPorts(pod: Pod): ReadonlySet<number> {
  const { containers, init } = containersOf(pod);
  return new Set(
    [...containers, ...init].flatMap(({ ports = [] }) =>
      ports.filter(({ protocol = 'TCP' }) => protocol === 'TCP').map(({ containerPort }) => containerPort),
    ),
  );
}

const REQUEST_LINE = /^(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) (\S{1,2048}) HTTP\/1\.[01]\r?\n$/;
const METHOD_START = /^(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) /;
const MAX_HEADER_LINES = 200;

/**
 * Answers a connection to a port of a pod: HTTP/1.1 with a page that says which pod it is, anything else with what was sent.
 * Resolves when the conversation is over.
 */
export async function answerPort(pod: Pod, port: number, from: ByteSource, to: ByteSink): Promise<void> {
  try {
    const first = await from.read();
    if (first === undefined) return;
    let seen = first;
    // A request line may come in pieces.
    while (seen.byteLength < 8 && isStartOfMethod(seen)) {
      const more = await from.read();
      if (more === undefined) break;
      seen = Buffer.concat([seen, more]);
    }
    const rest = startingWith(seen, from);
    if (METHOD_START.test(Buffer.from(seen.subarray(0, 8)).toString('latin1')))
      await answerHttp(pod, port, rest, to);
    else
      for (let chunk = await rest.read(); chunk !== undefined; chunk = await rest.read())
        await to.write(chunk);
  } catch (error) {
    if (!(error instanceof BrokenPipe)) throw error;
  } finally {
    to.end();
  }
}

function isStartOfMethod(bytes: Uint8Array): boolean {
  const text = Buffer.from(bytes).toString('latin1');
  return ['GET ', 'HEAD ', 'POST ', 'PUT ', 'PATCH ', 'DELETE ', 'OPTIONS '].some((method) =>
    method.startsWith(text),
  );
}

function startingWith(first: Uint8Array, source: ByteSource): ByteSource {
  let left: Uint8Array | undefined = first;
  return {
    read() {
      if (left === undefined) return source.read();
      const chunk = left;
      left = undefined;
      return Promise.resolve(chunk);
    },
    cancel: source.cancel,
  };
}

async function answerHttp(pod: Pod, port: number, from: ByteSource, to: ByteSink): Promise<void> {
  const input = inputOf(from);
  for (let line = await input.readLine(); line !== undefined; line = await input.readLine()) {
    const [, method, path] = REQUEST_LINE.exec(line) ?? [];
    if (method === undefined || path === undefined) {
      await to.write(Buffer.from(head('400 Bad Request', 0, true)));
      return;
    }
    const headers = await readHeaders(input);
    let left = Number(headers.get('content-length') ?? 0);
    if (headers.has('transfer-encoding') || !Number.isSafeInteger(left) || left < 0) {
      await to.write(Buffer.from(head('411 Length Required', 0, true)));
      return;
    }
    while (left > 0) {
      const chunk = await input.read();
      if (chunk === undefined) return;
      left -= chunk.byteLength;
    }
    const body = `pod ${pod.metadata.namespace ?? ''}/${pod.metadata.name ?? ''} on ${pod.spec.nodeName ?? ''}, port ${port}: ${method} ${path}\n`;
    const close = (headers.get('connection') ?? '').toLowerCase() === 'close' || line.includes('HTTP/1.0');
    await to.write(
      Buffer.from(head('200 OK', Buffer.byteLength(body), close) + (method === 'HEAD' ? '' : body)),
    );
    if (close) return;
  }
}

async function readHeaders(input: ReturnType<typeof inputOf>): Promise<Map<string, string>> {
  const headers = new Map<string, string>();
  for (let count = 0; count < MAX_HEADER_LINES; count++) {
    const line = (await input.readLine())?.trimEnd();
    if (line === undefined || line === '') break;
    const colon = line.indexOf(':');
    if (colon > 0) headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
  }
  return headers;
}

function head(status: string, length: number, close: boolean): string {
  return (
    `HTTP/1.1 ${status}\r\nServer: simulated\r\nContent-Type: text/plain; charset=utf-8\r\n` +
    `Content-Length: ${length}\r\n${close ? 'Connection: close\r\n' : ''}\r\n`
  );
}
