import type { KubeObject } from '../../../kube/object.ts';
import { clone, type JsonObject, objectAt } from '../../../schema/json.ts';
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  type Quantity,
  quantitiesOf,
  zeroQuantity,
} from '../../../schema/quantity.ts';
import type { AdmissionRequest, Scope } from '../../rest/scope.ts';
import { track } from '../../rest/tracking.ts';
import { namespacePrefix } from '../../store/key.ts';
import type { Accountant } from '../plugin.ts';
import { exceededQuota, increase, refusal, refuseUnspecified } from './accountant.ts';
import { concerns, type Quota, quotaOf } from './quota.ts';

interface Stated {
  /** With the bounds that its status says are in force. */
  readonly quota: Quota;
  readonly used: ReadonlyMap<string, Quantity>;
}

/**
 * Goes by what the status of each quota says, and writes there what it lets pass, as other servers do: for a server whose own
 * controllers do not run, so that somebody else keeps these. A quota without a status bounds nothing yet.
 */
export function statedQuota(): Accountant {
  return {
    charge(request) {
      const { scope, object, dryRun } = request;
      const { resource, cluster, subresource, server } = scope;
      if (object === undefined || !resource.namespaced || subresource !== undefined) return undefined;
      const { records } = server.store.list(namespacePrefix('', 'resourcequotas', cluster, scope.namespace));
      const taken: { readonly key: string; readonly amounts: [string, Quantity][] }[] = [];
      for (const { key } of records) {
        const stated = newest(scope, key);
        if (!stated) continue;
        const { quota, used } = stated;
        refuseUnspecified(quota, request);
        const requested = increase(quota, request);
        refuseUnknown(stated, requested, request);
        const exceeded = requested.filter(([name, amount]) => {
          const hard = quota.hard.get(name) ?? zeroQuantity;
          return compareQuantities(addQuantities(used.get(name) ?? zeroQuantity, amount), hard) > 0;
        });
        if (exceeded.length > 0)
          throw exceededQuota(request, quota, exceeded, (name) => used.get(name) ?? zeroQuantity);
        if (requested.length > 0) taken.push({ key, amounts: requested });
      }
      if (!dryRun) for (const { key, amounts } of taken) book(scope, key, amounts);
      return undefined;
    },
  };
}

/** The state after all writes that are decided on. */
function newest(scope: Scope, key: string): Stated | undefined {
  let found: KubeObject | undefined;
  scope.server.store
    .write(key, (current) => {
      found = current?.object;
      return undefined;
    })
    // A quota that is just being deleted cannot be left as it is; it bounds nothing.
    .catch(() => {});
  if (!found) return undefined;
  return {
    quota: { ...quotaOf(key, found), hard: quantitiesOf(objectAt(found, 'status', 'hard')) },
    used: quantitiesOf(objectAt(found, 'status', 'used')),
  };
}

function refuseUnknown(
  { quota, used }: Stated,
  requested: readonly [string, Quantity][],
  request: AdmissionRequest,
): void {
  const unknown = requested.map(([name]) => name).filter((name) => !used.has(name));
  const { group, resource } = request.scope.resource;
  if (unknown.length === 0 || !request.object || !concerns(quota, group, resource, request.object)) return;
  throw refusal(request, `status unknown for quota: ${quota.name}, resources: ${unknown.join(',')}`);
}

function book(scope: Scope, key: string, amounts: readonly [string, Quantity][]): void {
  const { server, cluster } = scope;
  const resource = server.resources(cluster).find('', 'v1', 'resourcequotas');
  server.store
    .write(key, (current) => {
      if (!current) return undefined;
      const quota = clone(current.object);
      const before = objectAt(quota, 'status') ?? {};
      const used: JsonObject = { ...objectAt(before, 'used') };
      for (const [name, amount] of amounts)
        used[name] = formatQuantity(addQuantities(parseQuantity(used[name]) ?? zeroQuantity, amount));
      const changed: KubeObject = { ...quota, status: { ...before, used } };
      if (!resource) return changed;
      const within: Scope = { ...scope, resource, subresource: { name: 'status', verbs: ['update'] } };
      return track(within, changed, current.object, {
        fieldManager: 'kube-apiserver',
        fieldValidation: 'Ignore',
        dryRun: false,
      });
    })
    .catch((error: unknown) =>
      server.runtime.log.warn('booking a quota failed', { key, error: String(error) }),
    );
}
