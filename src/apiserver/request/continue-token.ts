import { posix } from 'node:path';
import { badRequest, type StatusError } from '../../kube/status-error.ts';
import { jsonProblem } from '../../schema/json-problem.ts';

/** Where a chunked list goes on: the revision of its first chunk (-1 for the present) and the last key sent. */
export interface ContinueToken {
  readonly revision: number;
  /** Key behind the list's prefix. */
  readonly after: string;
  /** The logical cluster that was listed. */
  readonly cluster: string;
}

/** Tokens of this cluster do not name it, as those of a server with one cluster do not. */
const UNNAMED = 'root';

export function encodeContinue(token: ContinueToken): string {
  const json = JSON.stringify({
    v: 'meta.k8s.io/v1',
    rv: token.revision,
    start: `${token.after}\0`,
    ...(token.cluster === UNNAMED ? {} : { cluster: token.cluster }),
  });
  return Buffer.from(json).toString('base64url');
}

/** Throws 400 for what this server cannot have written. */
export function decodeContinue(text: string): ContinueToken {
  let parsed: { v?: unknown; rv?: unknown; start?: unknown; cluster?: unknown };
  // As Go reads it, which leaves out line breaks and takes no padding.
  const foreign = /[^A-Za-z0-9_\-\r\n]/.exec(text);
  const characters = text.replace(/[\r\n]/g, '');
  if (foreign || characters.length % 4 === 1)
    throw invalidToken(`illegal base64 data at input byte ${foreign?.index ?? text.length - 1}`);
  const json = Buffer.from(text.slice(0, 4096), 'base64url').toString('utf8');
  try {
    parsed = JSON.parse(json) as typeof parsed;
  } catch (error) {
    throw invalidToken(jsonProblem(json) ?? String(error));
  }
  const { v, rv = 0, start = '', cluster = UNNAMED } = parsed ?? {};
  for (const [name, value, type] of [
    ['rv', rv, 'int64'],
    ['start', start, 'string'],
  ] as const)
    if (typeof value !== (type === 'string' ? 'string' : 'number'))
      throw invalidToken(
        `json: cannot unmarshal ${jsonType(value)} into Go struct field continueToken.${name} of type ${type}`,
      );
  if (typeof rv !== 'number' || typeof start !== 'string') throw invalidToken('it has fields of other types');
  if (v !== 'meta.k8s.io/v1')
    throw invalidToken(`server does not recognize this encoded version ${typeof v === 'string' ? v : ''}`);
  if (rv === 0 || !Number.isSafeInteger(rv))
    throw invalidToken('incorrect encoded start resourceVersion (version meta.k8s.io/v1)');
  if (start === '') throw invalidToken('encoded start key empty (version meta.k8s.io/v1)');
  // A path that is cleaned may not be another one: it must stay within what is listed.
  const cleaned = posix.normalize(`/${start}`);
  if (cleaned !== (start.startsWith('/') ? start : `/${start}`)) throw invalidToken(start);
  if (typeof cluster !== 'string') throw foreignContinue();
  const key = start.replace(/^\//, '');
  return { revision: rv, cluster, after: key.endsWith('\0') ? key.slice(0, -1) : key };
}

function invalidToken(why: string): StatusError {
  return badRequest(`invalid continue token: continue key is not valid: ${why}`);
}

function jsonType(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}

/** The refusal of a token that some other logical cluster has given out. */
export function foreignContinue(): StatusError {
  return badRequest('invalid continue token: it is of another logical cluster');
}
