import type { Client } from '../../kube/client.ts';
import { keepApplied } from '../../kube/keep-applied.ts';
import type { KubeObject } from '../../kube/object.ts';
import { hasCode, StatusError } from '../../kube/status-error.ts';
import type { Logger } from '../../runtime/log.ts';
import { authorCheck, authorStamp } from './author-policy.ts';
import { credentialPolicy } from './credential-policy.ts';

/** What the API server of a hub does about who wrote an intent. */
export interface PoliciesInForce {
  /**
   * `stamped`: it writes the author down. `checked`: authors write themselves down, and it lets them write nobody else.
   * `unknown`: anybody could write anybody's name, so no name is believed.
   */
  readonly authors: 'stamped' | 'checked' | 'unknown';
  /** Why it is not `stamped`. */
  readonly problem?: string;
}

/** Where policies that mutate are served: from 1.36 on, and before where they are switched on. */
const STAMP_VERSIONS = ['v1', 'v1beta1'];

/** Makes the hub's API server guard what the hub relies on. Writes nothing where it does already. */
export async function installPolicies(client: Client, log: Logger): Promise<PoliciesInForce> {
  // Stamped before it is checked: whoever writes in between is not refused for nothing.
  const stamping = await attempt(() => stamp(client));
  const checking = await attempt(() => apply(client, [...authorCheck(), ...credentialPolicy()]));
  if (checking !== undefined) {
    const problem = `the hub's API server checks no authors, which takes ValidatingAdmissionPolicies (Kubernetes 1.30): ${checking}`;
    log.error('no author is believed', { why: problem });
    return { authors: 'unknown', problem };
  }
  if (stamping === undefined) return { authors: 'stamped' };
  const problem = `the hub's API server writes no authors down, which takes MutatingAdmissionPolicies: ${stamping}`;
  log.warn('authors have to write themselves into spec.author', { why: problem });
  return { authors: 'checked', problem };
}

async function stamp(client: Client): Promise<void> {
  let missing: unknown;
  for (const version of STAMP_VERSIONS) {
    try {
      return await apply(client, authorStamp(version));
    } catch (error) {
      if (!hasCode(error, 404)) throw error;
      missing = error;
    }
  }
  throw missing;
}

/** Why something is not served or not allowed; other failures are thrown. */
async function attempt(act: () => Promise<void>): Promise<string | undefined> {
  try {
    await act();
    return undefined;
  } catch (error) {
    if (error instanceof StatusError && (error.code === 403 || error.code === 404)) return error.message;
    throw error;
  }
}

async function apply(client: Client, objects: readonly KubeObject[]): Promise<void> {
  for (const object of objects) await keepApplied(client, object, 'atoll');
}
