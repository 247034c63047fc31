import {
  addQuantities,
  compareQuantities,
  type Quantity,
  subtractQuantities,
  zeroQuantity,
} from '../../../schema/quantity.ts';
import { type AdmissionRequest, keyOf } from '../../rest/scope.ts';
import type { Accountant } from '../plugin.ts';
import { forbiddenStatus } from '../refusal.ts';
import { type QuotaLedger, usageUnder } from './ledger.ts';
import { amountsText, concerns, type Quota } from './quota.ts';
import { unspecified } from './usage.ts';

/** Refuses what would take more than a quota allows, and books what it lets pass. */
export function resourceQuota(ledger: QuotaLedger): Accountant {
  return {
    charge(request) {
      const { scope, object, old, dryRun } = request;
      const { resource, cluster, subresource } = scope;
      if (object === undefined || !resource.namespaced || subresource !== undefined) return undefined;
      const accounts = ledger.accounts(cluster, scope.namespace);
      if (accounts.length === 0) return undefined;
      let isCounted = false;
      for (const { quota, used, reserved } of accounts) {
        refuseUnspecified(quota, request);
        const requested = increase(quota, request);
        if (requested.length === 0) continue;
        isCounted = true;
        const exceeded = requested.filter(([name, amount]) => {
          const taken = addQuantities(used.get(name) ?? zeroQuantity, reserved.get(name) ?? zeroQuantity);
          const hard = quota.hard.get(name) ?? zeroQuantity;
          return compareQuantities(addQuantities(taken, amount), hard) > 0;
        });
        if (exceeded.length === 0) continue;
        throw exceededQuota(request, quota, exceeded, (name) =>
          addQuantities(used.get(name) ?? zeroQuantity, reserved.get(name) ?? zeroQuantity),
        );
      }
      if (!isCounted || dryRun) return undefined;
      return { release: ledger.reserve(keyOf(scope, request.name), object, old) };
    },
  };
}

/** The 403 for a write that asks for more of `exceeded` than is left. */
export function exceededQuota(
  request: AdmissionRequest,
  quota: Quota,
  exceeded: readonly [string, Quantity][],
  used: (name: string) => Quantity,
): Error {
  const of = (amounts: (name: string) => Quantity | undefined): string =>
    amountsText(exceeded.map(([name]) => [name, amounts(name) ?? zeroQuantity]));
  return refusal(
    request,
    `exceeded quota: ${quota.name}, requested: ${amountsText(exceeded)}, used: ${of(used)}, limited: ${of((name) => quota.hard.get(name))}`,
  );
}

/** What the write takes beyond what the object took before. */
export function increase(quota: Quota, { scope, object, old }: AdmissionRequest): [string, Quantity][] {
  const { group, resource, storageGroup } = scope.resource;
  const gained = usageUnder(quota, storageGroup ?? group, resource, object);
  if (!gained) return [];
  const before = usageUnder(quota, storageGroup ?? group, resource, old);
  const found: [string, Quantity][] = [];
  for (const name of quota.hard.keys()) {
    const amount = gained.get(name);
    if (!amount) continue;
    const more = subtractQuantities(amount, before?.get(name) ?? zeroQuantity);
    if (more.nanos > 0n) found.push([name, more]);
  }
  return found;
}

/** Where a quota bounds processor time or memory, each container of a new pod says how much it wants. */
export function refuseUnspecified(quota: Quota, request: AdmissionRequest): void {
  const { scope, object, operation } = request;
  const { group, resource } = scope.resource;
  if (operation !== 'CREATE' || group !== '' || resource !== 'pods' || !object) return;
  if (!concerns(quota, group, resource, object)) return;
  const problem = unspecified(object, quota.hard.keys());
  if (problem !== undefined) throw refusal(request, `failed quota: ${quota.name}: ${problem}`);
}

export function refusal({ scope, name }: AdmissionRequest, why: string): Error {
  return forbiddenStatus(scope.resource.group, scope.resource.resource, name, why);
}
