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
  const json = Buffer.from(text.slice(0, 4096), 'base64url').toString('utf8');
  try {
    parsed = JSON.parse(json) as typeof parsed;
  } catch (error) {
    throw badRequest(
      `invalid continue token: continue key is not valid: ${jsonProblem(json) ?? String(error)}`,
    );
  }
  const { v, rv, start, cluster = UNNAMED } = parsed ?? {};
  if (v !== 'meta.k8s.io/v1')
    throw badRequest(
      `invalid continue token: continue key is not valid: server does not recognize this encoded version ${JSON.stringify(v ?? '')}`,
    );
  if (
    typeof rv !== 'number' ||
    !Number.isSafeInteger(rv) ||
    rv === 0 ||
    typeof start !== 'string' ||
    start === ''
  )
    throw badRequest(
      'invalid continue token: continue key is not valid: incorrect encoded start resourceVersion or key',
    );
  if (start.startsWith('/') || start.split('/').includes('..'))
    throw badRequest(`invalid continue token: continue key is not valid: ${JSON.stringify(start)}`);
  if (typeof cluster !== 'string') throw foreignContinue();
  return { revision: rv, cluster, after: start.endsWith('\0') ? start.slice(0, -1) : start };
}

/** The refusal of a token that some other logical cluster has given out. */
export function foreignContinue(): StatusError {
  return badRequest('invalid continue token: it is of another logical cluster');
}
