import {
  clone,
  deepEqual,
  isObject,
  type JsonObject,
  listAt,
  objectAt,
  stringAt,
  stringsAt,
} from '../../schema/json.ts';
import { POD_ADMISSION } from '../builtins/index.ts';
import type { AdmissionRequest } from '../rest/scope.ts';
import { objectKey } from '../store/key.ts';
import type { AdmissionPlugin } from './plugin.ts';
import { forbiddenStatus } from './refusal.ts';

/** Gives a new pod the overhead, node selector and tolerations of its runtime class, which must exist. */
export const runtimeClass: AdmissionPlugin = {
  name: 'RuntimeClass',
  mutate(request): void {
    const { operation, scope, object } = request;
    const { resource, subresource } = scope;
    if (operation !== 'CREATE' || resource.group !== '' || resource.resource !== 'pods') return;
    if (subresource !== undefined || object === undefined || !isObject(object.spec)) return;
    const { spec } = object;
    const found = classOf(request, spec);
    setOverhead(request, spec, objectAt(found, 'overhead', 'podFixed'));
    const scheduling = objectAt(found, 'scheduling');
    if (scheduling) setScheduling(request, spec, scheduling);
  },
};

function rejected({ name }: AdmissionRequest, why: string): Error {
  return forbiddenStatus('', 'pods', name, `pod rejected: ${why}`);
}

function classOf(request: AdmissionRequest, spec: JsonObject): object | undefined {
  const wanted = stringAt(spec, 'runtimeClassName');
  if (wanted === undefined) return undefined;
  const { scope } = request;
  const key = objectKey('node.k8s.io', 'runtimeclasses', scope.cluster, '', wanted);
  const found = scope.server.store.get(key)?.object;
  if (found === undefined) throw rejected(request, `RuntimeClass ${JSON.stringify(wanted)} not found`);
  return found;
}

function setOverhead(request: AdmissionRequest, spec: JsonObject, fixed: JsonObject | undefined): void {
  const given = objectAt(spec, 'overhead');
  if (fixed === undefined) {
    if (given !== undefined) {
      throw rejected(request, 'Pod Overhead set without corresponding RuntimeClass defined Overhead');
    }
    return;
  }
  if (given !== undefined && !deepEqual(given, fixed)) {
    throw rejected(request, "Pod's Overhead doesn't match RuntimeClass's defined Overhead");
  }
  spec.overhead = clone(fixed);
}

function setScheduling(request: AdmissionRequest, spec: JsonObject, scheduling: JsonObject): void {
  const wanted = stringsAt(scheduling, 'nodeSelector');
  const selector = stringsAt(spec, 'nodeSelector');
  for (const key of Object.keys(wanted)) {
    if (selector[key] === undefined || selector[key] === wanted[key]) continue;
    throw forbiddenStatus(
      '',
      'pods',
      request.name,
      `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${wanted[key]}; pod.spec.nodeSelector[${key}] = ${selector[key]}`,
    );
  }
  if (Object.keys(wanted).length > 0) spec.nodeSelector = { ...selector, ...wanted };
  const tolerations = listAt(spec, 'tolerations');
  const added = listAt(scheduling, 'tolerations').filter(
    (toleration) => !tolerations.some((present) => deepEqual(present, toleration)),
  );
  if (added.length === 0) return;
  // Those that every pod gets come before.
  POD_ADMISSION.DefaultTolerationSeconds?.(spec);
  spec.tolerations = [...listAt(spec, 'tolerations'), ...clone(added)];
}
