import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../runtime/clock.ts';
import { isObject, type JsonObject, type JsonValue, listAt, numberAt, stringAt } from '../../schema/json.ts';

/** `oci://host/repository:tag`, or with `@sha256:…` instead of a tag. */
export interface Reference {
  readonly host: string;
  readonly repository: string;
  /** A tag or a digest. */
  readonly name: string;
}

const REFERENCE =
  /^oci:\/\/([A-Za-z0-9.-]+(?::\d{1,5})?|\[[0-9a-fA-F:]+\](?::\d{1,5})?)\/([a-z0-9]+(?:[._/-][a-z0-9]+)*)(?::([A-Za-z0-9_][A-Za-z0-9._-]{0,127})|@(sha256:[0-9a-f]{64}))?$/;

export function parseReference(text: string): Reference {
  const [, host, repository, tag, digest] = REFERENCE.exec(text) ?? [];
  if (host === undefined || repository === undefined)
    throw new Error(`${text}: found no reference such as oci://registry.example/team/shop:v1`);
  return { host, repository, name: tag ?? digest ?? 'latest' };
}

const MANIFEST = 'application/vnd.oci.image.manifest.v1+json';
const ARTIFACT = 'application/vnd.atoll.graphs.v1';
const LAYER = 'application/vnd.atoll.graphs.v1+yaml';
const EMPTY = { mediaType: 'application/vnd.oci.empty.v1+json', bytes: Buffer.from('{}') } as const;
const MAX_BYTES = 16 * 1024 * 1024;
/** For all that one push or pull asks. */
const LIMIT_MS = 120_000;

/** For one push or pull. Definitions in a registry of container images, as artifacts of OCI with one layer. */
export interface Registry {
  /** Returns the digest of what was pushed. */
  push(reference: Reference, text: string): Promise<string>;
  /** Everything that comes is held against its digest. */
  pull(reference: Reference): Promise<{ readonly text: string; readonly digest: string }>;
}

export interface RegistryOptions {
  readonly clock: Clock;
  /** Without TLS: for a registry on this machine or in a test. */
  readonly plainHttp?: boolean;
  /** Docker's, with the credentials; `~/.docker/config.json` by default. */
  readonly config?: string;
}

export function openRegistry(options: RegistryOptions): Registry {
  const tokens = new Map<string, string>();
  const ending = new AbortController();

  async function bounded<T>(reference: Reference, work: () => Promise<T>): Promise<T> {
    const timer = options.clock.after(LIMIT_MS, () =>
      ending.abort(new Error(`${reference.host} did not answer within ${LIMIT_MS / 1_000} s`)),
    );
    try {
      return await work();
    } finally {
      timer.cancel();
    }
  }

  async function ask(
    { host, repository }: Reference,
    method: string,
    path: string,
    more: { headers?: Record<string, string>; body?: Uint8Array<ArrayBuffer> } = {},
  ): Promise<Response> {
    const url = /^https?:\/\//.test(path)
      ? path
      : `${options.plainHttp === true ? 'http' : 'https'}://${host}${path}`;
    // Credentials are for the registry, wherever it sends uploads.
    const own = new URL(url).host === host;
    for (let attempt = 0; ; attempt++) {
      const token = own ? tokens.get(`${host}/${repository}`) : undefined;
      let answer: Response;
      try {
        answer = await fetch(url, {
          method,
          headers: { ...more.headers, ...(token !== undefined && { authorization: token }) },
          ...(more.body && { body: more.body }),
          signal: ending.signal,
        });
      } catch (error) {
        const why = error instanceof Error ? (error.cause ?? error) : error;
        throw new Error(`${host} cannot be asked: ${why instanceof Error ? why.message : String(why)}`, {
          cause: error,
        });
      }
      if (answer.status !== 401 || attempt > 0 || !own) return answer;
      await answer.body?.cancel();
      const challenge = answer.headers.get('www-authenticate') ?? '';
      tokens.set(`${host}/${repository}`, await authorization(host, challenge));
    }
  }

  async function authorization(host: string, challenge: string): Promise<string> {
    const stored = storedCredentials(options.config, host);
    const basic = stored === undefined ? undefined : `Basic ${stored}`;
    if (!/^bearer /i.test(challenge)) {
      if (basic === undefined)
        throw new Error(`${host} wants to know who asks: docker login ${host} stores it`);
      return basic;
    }
    const part = (name: string): string | undefined =>
      new RegExp(`${name}="([^"]*)"`, 'i').exec(challenge)?.[1];
    const realm = part('realm');
    if (realm === undefined) throw new Error(`${host} names no place to get a token`);
    const url = new URL(realm);
    if (url.protocol !== 'https:' && options.plainHttp !== true)
      throw new Error(`${host} wants credentials to be sent to ${realm}, which is no https`);
    for (const name of ['service', 'scope']) {
      const value = part(name);
      if (value !== undefined) url.searchParams.set(name, value);
    }
    const answer = await fetch(url, {
      headers: basic === undefined ? {} : { authorization: basic },
      signal: ending.signal,
    });
    const body = jsonIn(Buffer.from(await bytesOf(answer)), `the token of ${host}`);
    const token = stringAt(body, 'token') ?? stringAt(body, 'access_token');
    if (!answer.ok || token === undefined)
      throw new Error(`${host} gives no token (${answer.status}): docker login ${host} stores who asks`);
    return `Bearer ${token}`;
  }

  async function upload(reference: Reference, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    const digest = digestOf(bytes);
    const base = `/v2/${reference.repository}/blobs`;
    const there = await ask(reference, 'HEAD', `${base}/${digest}`);
    if (there.ok) return;
    const begun = await ask(reference, 'POST', `${base}/uploads/`);
    const location = begun.headers.get('location');
    await begun.body?.cancel();
    if (begun.status !== 202 || location === null) throw refused(reference, 'take an upload', begun.status);
    const target = new URL(location, begun.url);
    target.searchParams.set('digest', digest);
    const headers = { 'content-type': 'application/octet-stream' };
    const done = await ask(reference, 'PUT', target.href, { headers, body: bytes });
    await done.body?.cancel();
    if (done.status !== 201) throw refused(reference, 'keep what was uploaded', done.status);
  }

  async function download(reference: Reference, path: string, accept: string): Promise<Buffer<ArrayBuffer>> {
    const answer = await ask(reference, 'GET', `/v2/${reference.repository}/${path}`, {
      headers: { accept },
    });
    if (!answer.ok) throw refused(reference, `give ${path}`, answer.status);
    return Buffer.from(await bytesOf(answer));
  }

  return {
    push: (reference, text) =>
      bounded(reference, async () => {
        const bytes = new TextEncoder().encode(text);
        const empty = new Uint8Array(EMPTY.bytes);
        await upload(reference, empty);
        await upload(reference, bytes);
        const manifest = new TextEncoder().encode(
          JSON.stringify({
            schemaVersion: 2,
            mediaType: MANIFEST,
            artifactType: ARTIFACT,
            config: { mediaType: EMPTY.mediaType, digest: digestOf(empty), size: empty.length },
            layers: [{ mediaType: LAYER, digest: digestOf(bytes), size: bytes.length }],
          }),
        );
        const digest = digestOf(manifest);
        const name = reference.name.startsWith('sha256:') ? digest : reference.name;
        const path = `/v2/${reference.repository}/manifests/${name}`;
        const answer = await ask(reference, 'PUT', path, {
          headers: { 'content-type': MANIFEST },
          body: manifest,
        });
        await answer.body?.cancel();
        if (answer.status !== 201) throw refused(reference, 'keep the manifest', answer.status);
        return digest;
      }),
    pull: (reference) =>
      bounded(reference, async () => {
        const manifest = await download(reference, `manifests/${reference.name}`, MANIFEST);
        const digest = digestOf(manifest);
        if (reference.name.startsWith('sha256:') && digest !== reference.name)
          throw new Error(`${reference.host} gave a manifest of the digest ${digest}`);
        const body = jsonIn(manifest, 'the manifest');
        const layer = listAt(body, 'layers').find((item) => stringAt(item, 'mediaType') === LAYER);
        const wanted = stringAt(layer, 'digest');
        if (wanted === undefined) throw new Error(`${reference.repository} holds no definitions of graphs`);
        if ((numberAt(layer, 'size') ?? 0) > MAX_BYTES)
          throw new Error(`${reference.repository} is larger than ${MAX_BYTES} bytes`);
        const bytes = await download(reference, `blobs/${wanted}`, 'application/octet-stream');
        if (digestOf(bytes) !== wanted)
          throw new Error(`${reference.host} gave other bytes than those of the digest ${wanted}`);
        return { text: bytes.toString('utf8'), digest };
      }),
  };
}

function refused({ host, repository, name }: Reference, what: string, status: number): Error {
  const hint = status === 404 ? ': there is none' : status === 403 ? ': it is not allowed' : '';
  return new Error(`${host} does not ${what} for ${repository}:${name} (${status})${hint}`);
}

async function bytesOf(answer: Response): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of answer.body ?? []) {
    length += chunk.length;
    if (length > MAX_BYTES) throw new Error(`the answer is larger than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return new Uint8Array(Buffer.concat(chunks));
}

function jsonIn(bytes: Buffer, what: string): JsonObject {
  const parsed: JsonValue | undefined = jsonOf(bytes.toString('utf8'));
  if (!isObject(parsed)) throw new Error(`${what} is no JSON object`);
  return parsed;
}

function jsonOf(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

/** What `docker login` stored for a host. */
function storedCredentials(config: string | undefined, host: string): string | undefined {
  let text: string;
  try {
    text = readFileSync(config ?? join(homedir(), '.docker', 'config.json'), 'utf8');
  } catch (error) {
    if (config === undefined) return undefined;
    throw new Error(`${config} cannot be read`, { cause: error });
  }
  return stringAt(jsonOf(text), 'auths', host, 'auth');
}
