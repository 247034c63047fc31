import { listAt, stringAt } from '../schema/json.ts';
import type { Client } from './client.ts';
import { ignoring } from './status-error.ts';
import { selfSubjectReviews } from './well-known.ts';

/** As whom an API server knows a client. */
export interface Self {
  readonly username: string;
  readonly groups: readonly string[];
}

/** As whom a client is known; `undefined` where the server does not say, as before Kubernetes 1.28. */
export async function whoAmI(client: Client): Promise<Self | undefined> {
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview', metadata: {} };
  const answer = await ignoring([404, 403], client.create(selfSubjectReviews, review));
  const username = stringAt(answer, 'status', 'userInfo', 'username');
  const groups = listAt(answer, 'status', 'userInfo', 'groups').filter((group) => typeof group === 'string');
  return username === undefined ? undefined : { username, groups };
}
