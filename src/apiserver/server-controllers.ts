import type { Runtime } from '../runtime/index.ts';
import { policyTypeChecking, type QuotaLedger, startQuotaStatus } from './admission/index.ts';
import type { Authorizer } from './auth/index.ts';
import { namespaceContents } from './bootstrap.ts';
import { startCertificateController } from './certificates/index.ts';
import {
  startBootstrapTokens,
  startGarbageCollector,
  startNamespaceController,
  startServiceAccountSecrets,
} from './controllers/index.ts';
import type { ResourceRegistry } from './crd/index.ts';
import type { Identity } from './identity.ts';
import { roleAggregation } from './rbac-source.ts';
import type { RestServer } from './rest/scope.ts';
import type { serverActions } from './rest/server-actions.ts';
import { type ApiServerOptions, ROOT_CLUSTER } from './server-options.ts';
import type { Store } from './store/index.ts';

/** The server that controllers keep in step. */
export interface ControlledServer {
  readonly store: Store;
  readonly registry: ResourceRegistry;
  readonly rest: RestServer;
  readonly actions: ReturnType<typeof serverActions>;
  readonly identity: Pick<Identity, 'tokens'>;
  readonly authorizer: Authorizer;
  readonly ledger: QuotaLedger;
}

/** Starts what the options allow to be left out, for all logical clusters at once; gives what stops each. */
export function startControllers(
  runtime: Runtime,
  options: ApiServerOptions,
  { store, registry, rest, actions, identity, authorizer, ledger }: ControlledServer,
): (() => void | Promise<void>)[] {
  const caCertificate = options.caCertificate ?? '';
  return [
    roleAggregation(runtime, store).stop,
    namespaceContents(rest, caCertificate).stop,
    startGarbageCollector(runtime, { store, resources: (cluster) => registry.of(cluster).all, actions }).stop,
    startNamespaceController(runtime, { store, actions }).stop,
    policyTypeChecking(runtime, { store, actions, resources: registry.of }).stop,
    startQuotaStatus(runtime, { store, ledger, actions }).stop,
    startBootstrapTokens(runtime, { store, actions }).stop,
    startServiceAccountSecrets(runtime, { store, actions, tokens: identity.tokens, caCertificate }).stop,
    startCertificateController(runtime, {
      store,
      actions,
      authorizer,
      cluster: ROOT_CLUSTER,
      ...(options.clientCa === undefined ? {} : { authority: options.clientCa }),
    }).stop,
  ];
}
