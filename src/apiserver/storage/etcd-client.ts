import { isObject, type JsonObject } from '../../schema/json.ts';

/** A key of etcd with its value. */
export interface EtcdValue {
  readonly key: string;
  readonly value: Buffer;
}

/** An operation of a transaction, as the JSON gateway has it. Keys and values are base64. */
export type Operation = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** What etcd itself said no to. Other errors leave open whether a request took effect. */
export class EtcdRefusal extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'EtcdRefusal';
  }
}

/** The few calls of etcd's API v3 that storage needs, over its JSON gateway. */
export interface EtcdClient {
  get(key: string): Promise<Buffer | undefined>;
  put(key: string, value: string): Promise<void>;
  /** Keys that begin with `prefix`, in order, as they were when the first page was read. */
  list(prefix: string, page: number, from?: string): AsyncIterable<EtcdValue>;
  transact(
    compare: readonly Readonly<Record<string, string>>[],
    success: readonly Operation[],
    failure: readonly Operation[],
  ): Promise<{ readonly succeeded: boolean }>;
  grant(seconds: number): Promise<string>;
  /** False when the lease is over. */
  renew(lease: string): Promise<boolean>;
  revoke(lease: string): Promise<void>;
  /** Lets etcd forget all but the newest value of every key. */
  forgetHistory(): Promise<void>;
  close(): Promise<void>;
}

const TIMEOUT_MS = 5_000;
/** Of the gRPC codes that the gateway gives for requests that took no effect. */
const OUT_OF_RANGE = 11;

/** `url` is `http://host:port` of a member. Throws an Error for another. Connects with the first call. */
export async function etcdClient(url: string): Promise<EtcdClient> {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new Error(`${url} is no http:// address of etcd`);
  const { Agent } = await import('undici');
  const agent = new Agent({
    headersTimeout: TIMEOUT_MS,
    bodyTimeout: TIMEOUT_MS,
    connect: { timeout: TIMEOUT_MS },
  });

  async function call(path: string, body: unknown): Promise<JsonObject> {
    const answer = await agent.request({
      origin: url,
      path: `/v3/${path}`,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const text = await answer.body.text();
    let parsed: unknown;
    try {
      parsed = JSON.parse(text);
    } catch (error) {
      throw new Error(`${url} answers ${answer.statusCode} and no JSON: is it etcd?`, { cause: error });
    }
    if (!isObject(parsed)) throw new Error(`${url} answers ${answer.statusCode} and no object`);
    if (answer.statusCode === 200) return parsed;
    const message = typeof parsed.message === 'string' ? parsed.message : String(parsed.error ?? text);
    // Unavailable, or a leader that changed: the request may have taken effect.
    if (answer.statusCode >= 500) throw new Error(message);
    if (parsed.code === OUT_OF_RANGE && path === 'kv/compaction') return {};
    throw new EtcdRefusal(message);
  }

  async function range(
    request: Readonly<Record<string, string>>,
  ): Promise<{ values: EtcdValue[]; revision: string }> {
    const answer = await call('kv/range', request);
    const found = Array.isArray(answer.kvs) ? answer.kvs.filter(isObject) : [];
    return {
      values: found.map(({ key, value }) => ({
        key: Buffer.from(String(key ?? ''), 'base64').toString(),
        value: Buffer.from(String(value ?? ''), 'base64'),
      })),
      revision: revisionOf(answer),
    };
  }

  return {
    get: async (key) => (await range({ key: base64(key) })).values[0]?.value,
    put: async (key, value) => {
      await call('kv/put', { key: base64(key), value: base64(value) });
    },
    async *list(prefix, page, from = prefix) {
      const rangeEnd = base64(afterPrefix(prefix));
      let key = Buffer.from(from);
      let revision = '0';
      for (;;) {
        const found = await range({ key: base64(key), rangeEnd, limit: String(page), revision });
        yield* found.values;
        const last = found.values.at(-1);
        if (last === undefined || found.values.length < page) return;
        key = Buffer.concat([Buffer.from(last.key), Buffer.from([0])]);
        if (revision === '0') revision = found.revision;
      }
    },
    transact: async (compare, success, failure) => {
      const answer = await call('kv/txn', { compare, success, failure });
      return { succeeded: answer.succeeded === true };
    },
    grant: async (seconds) => {
      const { ID } = await call('lease/grant', { TTL: String(seconds) });
      if (typeof ID !== 'string') throw new Error(`${url} grants no lease`);
      return ID;
    },
    renew: async (lease) => {
      const { result } = await call('lease/keepalive', { ID: lease });
      return isObject(result) && Number(result.TTL ?? 0) > 0;
    },
    revoke: async (lease) => {
      await call('lease/revoke', { ID: lease });
    },
    forgetHistory: async () => {
      const { revision } = await range({ key: base64('\0'), limit: '1' });
      await call('kv/compaction', { revision });
    },
    close: () => agent.destroy(),
  };
}

export function base64(value: string | Uint8Array): string {
  return (
    typeof value === 'string'
      ? Buffer.from(value)
      : Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  ).toString('base64');
}

function revisionOf({ header }: JsonObject): string {
  return isObject(header) ? String(header.revision ?? '0') : '0';
}

/** The first key that comes after all that begin with `prefix`, which must end below U+007F. */
function afterPrefix(prefix: string): string {
  return prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1);
}
