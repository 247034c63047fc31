import type { Executor } from '../../engine/contract/index.ts';
import type { Client } from '../../kube/client.ts';
import { createClient } from '../../kube/rest-client.ts';
import type { Clock } from '../../runtime/clock.ts';

/**
 * The cluster's API with the rights of a service account and no others: the API server decides, and its refusal is what the
 * author gets to read. The engine needs the verb `impersonate` for the account.
 */
export function actingAs(client: Client, clock: Clock, { namespace, name }: Executor): Client {
  const user = `system:serviceaccount:${namespace}:${name}`;
  const acting = createClient(
    (request) => client.handler({ ...request, headers: { ...request.headers, 'impersonate-user': user } }),
    { userAgent: 'atoll-engine', clock },
  );
  // Which kinds there are is the same for everybody, and known already.
  return { ...acting, resourceFor: client.resourceFor };
}
