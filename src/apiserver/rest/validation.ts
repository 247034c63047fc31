import { asJson, type KubeObject } from '../../kube/object.ts';
import { badRequest, type FieldError, invalid } from '../../kube/status-error.ts';
import { bringIntoForm } from '../../schema/built-in-form.ts';
import { clone, type JsonValue } from '../../schema/json.ts';
import { validatePathSegmentName } from '../../schema/names.ts';
import type { TypeSchema } from '../../schema/open-api-schema.ts';
import { validateChange, validateValue } from '../../schema/validate.ts';
import { validateObjectMeta, validateObjectMetaForm, validateObjectMetaUpdate } from '../builtins/index.ts';
import type { Resource } from '../resource.ts';
import { clusterPrefix } from '../store/key.ts';
import type { Scope } from './scope.ts';

function refuse(resource: Resource, object: KubeObject, errors: readonly FieldError[]): void {
  // Events of `events.k8s.io` are core events to those who check them.
  if (errors.length > 0)
    throw invalid(resource.storageGroup ?? resource.group, resource.kind, object.metadata.name ?? '', errors);
}

const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

/** The rule for names of kinds that have none of their own. */
function subdomainProblems(name: string): string[] {
  const problems: string[] = [];
  if (name.length > 253) problems.push('must be no more than 253 characters');
  if (!name.split('.').every((label) => LABEL.test(label)))
    problems.push(
      "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    );
  return problems;
}

/** Custom resources are checked against their schema; built-ins were when they were decoded, beyond that by their strategy. */
function schemaErrors(
  resource: Resource,
  object: KubeObject,
  old?: KubeObject,
  subresource?: string,
): FieldError[] {
  if (!resource.custom) return [];
  const { type } = resource;
  const status = type.schema.properties?.status;
  if (subresource !== 'status' || status === undefined)
    return checked(asJson(object), old && asJson(old), type);
  // A write of the status is checked as if the status were all there is: the texts name fields from there.
  const value = asJson(object).status;
  if (value === undefined) return [];
  const before = old && asJson(old).status;
  return checked(value, before, { schema: status, resolve: type.resolve }).map((error) => ({
    ...error,
    path: error.path === '' ? 'status' : error.path.startsWith('<') ? error.path : `status.${error.path}`,
  }));
}

function checked(value: JsonValue, old: JsonValue | undefined, type: TypeSchema): FieldError[] {
  return old === undefined ? validateValue(value, type) : validateChange(value, old, type);
}

export function validateCreate(resource: Resource, object: KubeObject): void {
  const { strategy } = resource;
  const schema = schemaErrors(resource, object);
  refuse(resource, object, [
    ...validateObjectMeta(object, {
      namespaced: resource.namespaced,
      validateName: strategy.validateName ?? subdomainProblems,
      custom: resource.custom,
    }),
    ...schema,
    ...(strategy.validate?.(object) ?? []),
    ...(strategy.validateCreate?.(object) ?? []),
    ...(strategy.rules?.(object, undefined, schema) ?? []),
  ]);
  // Whatever a kind lets pass as a name, it is a part of paths and of keys.
  const { name = '' } = object.metadata;
  const problems = validatePathSegmentName(name);
  if (problems.length > 0)
    throw badRequest(`Name parameter invalid: ${JSON.stringify(name)}: ${problems.join(';')}`);
}

interface MetadataChecks {
  /** How often it is looked at what an update may not change, and at the form. */
  readonly updates: number;
  /** How often at the form alone. */
  readonly forms: number;
}

/** Both the pipeline and the strategies of other servers check metadata, and clients see the causes of all. */
const ONCE_MORE: MetadataChecks = { updates: 2, forms: 2 };
const FORM_ONCE: MetadataChecks = { updates: 2, forms: 1 };
const FORM_THRICE: MetadataChecks = { updates: 2, forms: 3 };
const FORM_ONLY_MORE: MetadataChecks = { updates: 1, forms: 2 };
const METADATA_CHECKS: Readonly<Record<string, MetadataChecks>> = {
  '/events': { updates: 1, forms: 1 },
  '/limitranges': FORM_ONLY_MORE,
  '/persistentvolumeclaims': FORM_THRICE,
  '/persistentvolumes': { updates: 1, forms: 3 },
  '/podtemplates': FORM_ONCE,
  '/resourcequotas': FORM_ONCE,
  'admissionregistration.k8s.io/mutatingwebhookconfigurations': FORM_ONLY_MORE,
  'admissionregistration.k8s.io/validatingadmissionpolicies': FORM_ONLY_MORE,
  'admissionregistration.k8s.io/validatingadmissionpolicybindings': FORM_ONLY_MORE,
  'admissionregistration.k8s.io/validatingwebhookconfigurations': FORM_ONLY_MORE,
  'apiextensions.k8s.io/customresourcedefinitions': FORM_ONCE,
  'apps/deployments': FORM_ONCE,
  'apps/statefulsets': FORM_ONCE,
  'autoscaling/horizontalpodautoscalers': FORM_ONCE,
  'batch/cronjobs': FORM_ONCE,
  'coordination.k8s.io/leases': FORM_ONCE,
  'discovery.k8s.io/endpointslices': FORM_ONLY_MORE,
  'events.k8s.io/events': FORM_ONCE,
  'flowcontrol.apiserver.k8s.io/flowschemas': FORM_ONLY_MORE,
  'flowcontrol.apiserver.k8s.io/prioritylevelconfigurations': FORM_ONLY_MORE,
  'policy/poddisruptionbudgets': { updates: 1, forms: 1 },
  'rbac.authorization.k8s.io/clusterrolebindings': FORM_THRICE,
  'rbac.authorization.k8s.io/clusterroles': FORM_THRICE,
  'rbac.authorization.k8s.io/rolebindings': FORM_THRICE,
  'rbac.authorization.k8s.io/roles': FORM_THRICE,
  'scheduling.k8s.io/priorityclasses': FORM_ONCE,
  'storage.k8s.io/csidrivers': FORM_ONCE,
  'storage.k8s.io/csinodes': { updates: 1, forms: 3 },
};

export function validateUpdate(
  resource: Resource,
  object: KubeObject,
  old: KubeObject,
  subresource?: string,
  warn?: (text: string) => void,
): void {
  const { strategy } = resource;
  const metadata = validateObjectMetaUpdate(object, old);
  const form = validateObjectMetaForm(object, old, resource.custom);
  const { updates, forms } = METADATA_CHECKS[`${resource.group}/${resource.resource}`] ?? ONCE_MORE;
  const schema = schemaErrors(resource, object, old, subresource);
  let own = ownProblems(resource, object, old, subresource);
  // What was stored before there was one form for all of it differs from what it is now, though nobody changed it.
  if (own.length > 0 && !resource.custom)
    own = ownProblems(resource, object, inForm(resource, old), subresource);
  refuse(resource, object, [
    ...Array.from({ length: updates }, () => metadata).flat(),
    ...Array.from({ length: resource.custom ? 1 : forms }, () => form).flat(),
    ...schema,
    ...own,
    ...(strategy.rules?.(object, old, schema, warn) ?? []),
  ]);
}

function inForm(resource: Resource, stored: KubeObject): KubeObject {
  const object = clone(stored);
  bringIntoForm(asJson(object), resource.type);
  return object;
}

function ownProblems(
  { strategy }: Resource,
  object: KubeObject,
  old: KubeObject,
  subresource: string | undefined,
): FieldError[] {
  const ofStatus = subresource === 'status' ? strategy.validateStatusUpdate : undefined;
  if (ofStatus) return ofStatus(object, old);
  const ofOther =
    subresource === undefined ? undefined : strategy.validateSubresourceUpdate?.(subresource, object, old);
  if (ofOther) return ofOther;
  const own = strategy.validateUpdate?.(object, old) ?? strategy.validate?.(object) ?? [];
  // A write of the status takes the spec as it stands: it may be older than a rule, and its status is still to be told.
  return subresource === 'status' ? own.filter(({ path }) => !isOfSpec(path)) : own;
}

function isOfSpec(path: string): boolean {
  return path === 'spec' || path.startsWith('spec.') || path.startsWith('spec[');
}

/** Lets the strategy allocate what the server gives, against all objects of the cluster, those being written included. */
export function allocate(
  scope: Scope,
  object: KubeObject,
  old: KubeObject | undefined,
  dryRun: boolean,
): void {
  const { resource, server, cluster } = scope;
  if (!resource.strategy.allocate) return;
  const prefix = clusterPrefix(resource.group, resource.resource, cluster);
  resource.strategy.allocate(object, old, {
    now: server.runtime.clock.now(),
    dryRun,
    *all() {
      for (const record of server.store.list(prefix).records) yield record.object;
      yield* server.inFlight.of(prefix);
    },
  });
}
