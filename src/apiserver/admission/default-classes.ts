import type { KubeObject } from '../../kube/object.ts';
import { isObject, type JsonObject, stringAt } from '../../schema/json.ts';
import type { AdmissionRequest } from '../rest/scope.ts';
import { namespacePrefix } from '../store/key.ts';
import type { AdmissionPlugin } from './plugin.ts';

/** The annotation that a claim named its class with before there was a field. */
const CLAIM_ANNOTATION = 'volume.beta.kubernetes.io/storage-class';
const INGRESS_ANNOTATION = 'kubernetes.io/ingress.class';

/** Gives a new claim that names no storage class the default one, the youngest of several. */
export const defaultStorageClass: AdmissionPlugin = {
  name: 'DefaultStorageClass',
  mutate(request): void {
    const claim = created(request, '', 'persistentvolumeclaims');
    if (claim === undefined || Object.hasOwn(claim.metadata.annotations ?? {}, CLAIM_ANNOTATION)) return;
    const spec = specOf(claim);
    if (typeof spec.storageClassName === 'string') return;
    const found = defaultOf(request, 'storage.k8s.io', 'storageclasses', [
      'storageclass.kubernetes.io/is-default-class',
      'storageclass.beta.kubernetes.io/is-default-class',
    ]);
    if (found !== undefined) spec.storageClassName = found;
  },
};

/** Gives a new ingress that names no class the default one, the youngest of several. */
export const defaultIngressClass: AdmissionPlugin = {
  name: 'DefaultIngressClass',
  mutate(request): void {
    const ingress = created(request, 'networking.k8s.io', 'ingresses');
    if (ingress === undefined) return;
    if (Object.hasOwn(ingress.metadata.annotations ?? {}, INGRESS_ANNOTATION)) return;
    const spec = specOf(ingress);
    if (typeof spec.ingressClassName === 'string') return;
    const found = defaultOf(request, 'networking.k8s.io', 'ingressclasses', [
      'ingressclass.kubernetes.io/is-default-class',
    ]);
    if (found !== undefined) spec.ingressClassName = found;
  },
};

function created(request: AdmissionRequest, group: string, plural: string): KubeObject | undefined {
  const { operation, scope, object } = request;
  const { resource, subresource } = scope;
  if (operation !== 'CREATE' || subresource !== undefined) return undefined;
  return resource.group === group && resource.resource === plural ? object : undefined;
}

function specOf(object: KubeObject): JsonObject {
  const spec = isObject(object.spec) ? object.spec : {};
  object.spec = spec;
  return spec;
}

/** The class that was marked as the default and made last; of those made in the same second, the first by name. */
function defaultOf(
  { scope }: AdmissionRequest,
  group: string,
  resource: string,
  annotations: readonly string[],
): string | undefined {
  let youngest: KubeObject | undefined;
  for (const { object } of scope.server.store.list(namespacePrefix(group, resource, scope.cluster, ''))
    .records) {
    const marks = object.metadata.annotations ?? {};
    if (!annotations.some((annotation) => marks[annotation] === 'true')) continue;
    const made = stringAt(object, 'metadata', 'creationTimestamp') ?? '';
    if (youngest === undefined || made > (stringAt(youngest, 'metadata', 'creationTimestamp') ?? ''))
      youngest = object;
  }
  return youngest?.metadata.name;
}
