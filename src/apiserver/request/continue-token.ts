import { badRequest } from '../../kube/status-error.ts';
import { jsonProblem } from '../../schema/json-problem.ts';

/** Where a chunked list goes on: the revision of its first chunk (-1 for the present) and the last key sent. */
export interface ContinueToken {
  readonly revision: number;
  /** Key behind the list's prefix. */
  readonly after: string;
}

export function encodeContinue(token: ContinueToken): string {
  const json = JSON.stringify({ v: 'meta.k8s.io/v1', rv: token.revision, start: `${token.after}\0` });
  return Buffer.from(json).toString('base64url');
}

/** Throws 400 for what this server cannot have written. */
export function decodeContinue(text: string): ContinueToken {
  let parsed: { v?: unknown; rv?: unknown; start?: unknown };
  const json = Buffer.from(text.slice(0, 4096), 'base64url').toString('utf8');
  try {
    parsed = JSON.parse(json) as typeof parsed;
  } catch (error) {
    throw badRequest(
      `invalid continue token: continue key is not valid: ${jsonProblem(json) ?? String(error)}`,
    );
  }
  const { v, rv, start } = parsed ?? {};
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
  return { revision: rv, after: start.endsWith('\0') ? start.slice(0, -1) : start };
}
