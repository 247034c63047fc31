import { isIP } from 'node:net';
import type { KubeObject } from '../../kube/object.ts';
import { type JsonObject, objectAt } from '../../schema/json.ts';
import { validateDns1123Subdomain } from '../../schema/names.ts';
import { ipAddress, type Problems } from './field-checks.ts';
import { duplicateAs, forbidden, IMMUTABLE, invalidAs, invalidEach, invalidValue } from './field-errors.ts';
import { objectsOf, text } from './fields.ts';
import { goDump } from './go-dump.ts';

/** The address of a pod is the first of its addresses; where they differ, the single one is right. */
export function settleAddresses(status: JsonObject): void {
  const single = text(status, 'podIP');
  const first = text(objectsOf(status, 'podIPs')[0], 'ip');
  if (single !== '' && single !== first) status.podIPs = [{ ip: single }];
  else if (single === '' && first !== '') status.podIP = first;
}

/** What must hold of the status of a pod that somebody writes. */
export function podStatusProblems(pod: KubeObject, old: KubeObject): Problems {
  const status = objectAt(pod, 'status') ?? {};
  const before = objectAt(old, 'status') ?? {};
  const problems: Problems = [];
  const nominated = text(status, 'nominatedNodeName');
  if (nominated !== '')
    problems.push(...invalidEach('status.nominatedNodeName', nominated, validateDns1123Subdomain(nominated)));
  const qosClass = text(status, 'qosClass');
  if (qosClass !== text(before, 'qosClass'))
    problems.push(invalidValue('status.qosClass', qosClass, IMMUTABLE));
  problems.push(
    ...restartProblems(status, before, objectAt(old, 'spec')),
    ...addressProblems(status, 'podIPs', 'core.PodIP'),
    ...addressProblems(status, 'hostIPs', 'core.HostIP'),
  );
  const host = objectsOf(status, 'hostIPs')[0];
  if (host !== undefined && text(host, 'ip') !== text(status, 'hostIP'))
    problems.push(invalidValue('status.hostIPs[0].ip', text(host, 'ip'), 'must be equal to `hostIP`'));
  return problems;
}

/** Containers that ended and are not to run again stay as they are. Those with a policy of their own are left to it. */
function restartProblems(status: JsonObject, before: JsonObject, spec: JsonObject | undefined): Problems {
  const key = 'containerStatuses';
  const policy = text(spec, 'restartPolicy');
  if (policy === 'Always') return [];
  const own = objectsOf(spec, 'containers').filter((container) => text(container, 'restartPolicy') !== '');
  const ended = objectsOf(before, key).filter((container) => {
    if (own.some((other) => text(other, 'name') === text(container, 'name'))) return false;
    const terminated = objectAt(container, 'state', 'terminated');
    return terminated !== undefined && (policy !== 'OnFailure' || (terminated.exitCode ?? 0) === 0);
  });
  return objectsOf(status, key).flatMap((container, index) =>
    objectAt(container, 'state', 'terminated') === undefined &&
    ended.some((other) => text(other, 'name') === text(container, 'name'))
      ? [forbidden(`status.${key}[${index}].state`, 'may not be transitioned to non-terminated state')]
      : [],
  );
}

/** At most one address of each family. */
function addressProblems(status: JsonObject, key: string, type: string): Problems {
  const items = objectsOf(status, key);
  const addresses = items.map((item) => text(item, 'ip'));
  const problems: Problems = addresses.flatMap((address, index) =>
    ipAddress(address, `status.${key}[${index}]`),
  );
  if (addresses.length < 2) return problems;
  const shown = goDump(`[]${type}`, items);
  const families = new Set(addresses.map((address) => isIP(address)));
  if (families.has(0)) return problems;
  if (families.size !== 2 || addresses.length > 2)
    problems.push(invalidAs(`status.${key}`, shown, 'may specify no more than one IP for each IP family'));
  for (const [index, address] of addresses.entries())
    if (addresses.indexOf(address) < index) problems.push(duplicateAs(`status.${key}[${index}]`, shown));
  return problems;
}
