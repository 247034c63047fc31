import { existsSync, readFileSync } from 'node:fs';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { HubTrust } from '../../engine/dispatch/index.ts';
import type { ProxySettings } from '../../kube/wire/index.ts';
import { isObject, type JsonObject } from '../../schema/json.ts';

/** A hub as a spoke is told of it: where it is, by what it is known, and the token to come with. */
export interface JoinedHub {
  /** For people. */
  readonly name: string;
  /** `host:port`, in the order in which to try them. */
  readonly addresses: readonly string[];
  /** PEM of the authority that the hub's link certificate must come from. */
  readonly ca: string;
  /** The name that its certificate must hold, where that is none of the addresses. */
  readonly serverName?: string;
  /** The way out of the spoke's network. */
  readonly proxy?: ProxySettings;
  /** Whose orders the spoke takes: pinned when it joins, before it looks at any. */
  readonly trust: HubTrust;
  /** Tokens for first certificates, by cluster name; one for any name under `*`. */
  readonly tokens: Readonly<Record<string, string>>;
}

/** What a spoke needs to join. As a file, as a Secret of the spoke, or as one word for a command line. */
export interface JoinFile {
  readonly version: 2;
  /** The hub that is meant first. */
  readonly hubs: readonly JoinedHub[];
}

const SIZE_LIMIT = 256 * 1024;
const WORD = /^[A-Za-z0-9_-]{64,}$/;

/** Something that was given as join data and is none. */
export class BadJoinFile extends Error {
  constructor(message: string, cause?: unknown) {
    super(
      `${message}; at the hub, \`atoll join <name>\` makes a new one`,
      cause === undefined ? {} : { cause },
    );
    this.name = 'BadJoinFile';
  }
}

/** One word that holds it all, fit for a command line. It holds the token: whoever reads it can join in the spoke's place. */
export function joinWord(file: JoinFile): string {
  return deflateRawSync(JSON.stringify(file), { level: 9 }).toString('base64url');
}

/** Reads join data from its JSON or its word. Throws {@link BadJoinFile}. */
export function parseJoin(text: string): JoinFile {
  if (text.length > SIZE_LIMIT) throw new BadJoinFile(`join data is never larger than ${SIZE_LIMIT} bytes`);
  const trimmed = text.trim();
  let value: unknown;
  try {
    value = JSON.parse(trimmed.startsWith('{') ? trimmed : inflated(trimmed));
  } catch (error) {
    throw new BadJoinFile('the join data is cut off or damaged', error);
  }
  if (!isObject(value) || value['version'] !== 2 || !Array.isArray(value['hubs']))
    throw new BadJoinFile('the join data is of another version of atoll');
  const hubs = value['hubs'].map(hubOf);
  if (hubs.length === 0) throw new BadJoinFile('the join data names no hub');
  return { version: 2, hubs };
}

/** Reads what `--join` was given: a file, or the word itself. */
export function readJoin(given: string): JoinFile {
  if (existsSync(given)) return parseJoin(readFileSync(given, 'utf8'));
  if (!WORD.test(given)) throw new BadJoinFile(`there is no file ${given.slice(0, 200)}`);
  return parseJoin(given);
}

/** Join data of several hubs as one: of one hub the later word counts. */
export function mergeJoins(files: readonly JoinFile[]): readonly JoinedHub[] {
  const hubs = new Map<string, JoinedHub>();
  for (const hub of files.flatMap((file) => file.hubs)) hubs.set(hub.trust.lineage, hub);
  return [...hubs.values()];
}

/** The one name that join data was made for; undefined where it is for several, or for any. */
export function spokeNamed(hubs: readonly JoinedHub[]): string | undefined {
  const names = new Set(hubs.flatMap((hub) => Object.keys(hub.tokens)).filter((name) => name !== '*'));
  return names.size === 1 ? [...names][0] : undefined;
}

/** The token with which a cluster comes to a hub for the first time. */
export function tokenFor(hub: JoinedHub, cluster: string): string | undefined {
  return Object.hasOwn(hub.tokens, cluster) ? hub.tokens[cluster] : hub.tokens['*'];
}

function inflated(word: string): string {
  return inflateRawSync(Buffer.from(word, 'base64url'), { maxOutputLength: SIZE_LIMIT }).toString('utf8');
}

function hubOf(value: unknown): JoinedHub {
  if (!isObject(value)) throw new BadJoinFile('the join data does not describe its hub');
  const { addresses, serverName, proxy, trust, tokens } = value;
  if (!Array.isArray(addresses) || addresses.length === 0 || !addresses.every(isText))
    throw new BadJoinFile('the join data holds no addresses of the hub');
  if (!isObject(trust)) throw new BadJoinFile('the join data does not say by what the hub is known');
  return {
    name: textAt(value, 'name'),
    addresses,
    ca: textAt(value, 'ca'),
    ...(isText(serverName) ? { serverName } : {}),
    ...(isObject(proxy) ? { proxy: proxyOf(proxy) } : {}),
    trust: { lineage: textAt(trust, 'lineage'), publicKey: textAt(trust, 'publicKey') },
    tokens: isObject(tokens)
      ? Object.fromEntries(
          Object.entries(tokens).filter((entry): entry is [string, string] => isText(entry[1])),
        )
      : {},
  };
}

function proxyOf(value: JsonObject): ProxySettings {
  const { noProxy, ca } = value;
  return {
    url: textAt(value, 'url'),
    ...(isText(noProxy) ? { noProxy } : {}),
    ...(isText(ca) ? { ca } : {}),
  };
}

function textAt(value: JsonObject, field: string): string {
  const text = value[field];
  if (!isText(text)) throw new BadJoinFile(`the join data has no ${field}`);
  return text;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
