import type { Runtime } from '../runtime/index.ts';
import {
  admissionChain,
  claimResize,
  conditionCheck,
  defaultIngressClass,
  defaultStorageClass,
  limitRanger,
  mutatingAdmissionPolicies,
  namespaceLifecycle,
  podSecurity,
  priority,
  type QuotaLedger,
  quotaLedger,
  type ResolveService,
  rbacEscalation,
  resourceQuota,
  runtimeClass,
  serviceAccount,
  serviceResolver,
  statedQuota,
  storedPolicies,
  terminatingDefinition,
  validatingAdmissionPolicies,
  type WebhookCaller,
  webhookAdmission,
  webhookConfigurations,
  webhookConnections,
  webhookCredentials,
} from './admission/index.ts';
import type { Authorizer, RbacAuthorizer } from './auth/index.ts';
import { minorOf, NEWEST_RELEASE } from './catalogue/index.ts';
import {
  certificateApproval,
  certificateSigning,
  certificateSubjectRestriction,
} from './certificates/index.ts';
import { boundDefinition, type ResourceRegistry } from './crd/index.ts';
import type { Outbound } from './outbound/index.ts';
import { objectForms } from './rest/object-forms.ts';
import type { Admission } from './rest/scope.ts';
import type { ApiServerOptions } from './server-options.ts';
import type { Store } from './store/index.ts';
import { tenancyAdmission } from './workspaces/index.ts';

/** The server around its admission. */
export interface AdmissionParts {
  readonly store: Store;
  readonly registry: ResourceRegistry;
  readonly authorizer: Authorizer;
  /** Tells what somebody holds and so may grant. */
  readonly rbac: RbacAuthorizer;
  readonly outbound: Outbound;
}

/** What writes have to get past, and what it keeps. */
export interface ServerAdmission {
  readonly chain: Admission;
  readonly disabled: ReadonlySet<string>;
  /** How webhooks are reached, those that convert among them. */
  readonly callers: { readonly call: WebhookCaller; readonly resolveService: ResolveService };
  readonly ledger: QuotaLedger;
  close(): void;
}

/** The built-in plugins in their order, then policies, then webhooks, then quotas. */
export function serverAdmission(
  runtime: Runtime,
  options: ApiServerOptions,
  { store, registry, authorizer, rbac, outbound }: AdmissionParts,
): ServerAdmission {
  const disabled = new Set(options.disableAdmissionPlugins);
  const enabled = ({ name }: { readonly name: string }): boolean => !disabled.has(name);
  const ledger = quotaLedger(store);
  const configurations = webhookConfigurations(store);
  const connections = webhookConnections(outbound, webhookCredentials(options.webhookUsers ?? []));
  const policies = storedPolicies(store);
  const callers = {
    call: options.callWebhook ?? connections.call,
    resolveService: options.resolveService ?? serviceResolver(store),
  };
  const webhooks = webhookAdmission(runtime, {
    ...callers,
    configurations,
    conditions: conditionCheck(authorizer),
    forms: objectForms,
    disabled,
  });
  const chain = admissionChain(
    [
      namespaceLifecycle,
      ...[
        limitRanger,
        serviceAccount,
        podSecurity(minorOf(options.emulatedVersion ?? NEWEST_RELEASE)),
        priority,
        claimResize,
        defaultStorageClass,
        runtimeClass,
        certificateApproval(authorizer),
        certificateSigning(authorizer),
        certificateSubjectRestriction,
        defaultIngressClass,
      ].filter(enabled),
      boundDefinition((cluster, name) => registry.bindings.find(cluster, name)?.provider),
      terminatingDefinition((cluster, resource) => registry.of(cluster).terminating(resource)),
      rbacEscalation(rbac),
      ...(options.workspaces ? [tenancyAdmission(authorizer)] : []),
      ...[
        mutatingAdmissionPolicies(policies, authorizer),
        validatingAdmissionPolicies(policies, authorizer),
      ].filter(enabled),
    ],
    webhooks,
    disabled.has('ResourceQuota')
      ? undefined
      : options.controllers === false
        ? statedQuota()
        : resourceQuota(ledger),
  );
  return {
    chain,
    disabled,
    callers,
    ledger,
    close() {
      policies.close();
      ledger.close();
      configurations.close();
    },
  };
}
