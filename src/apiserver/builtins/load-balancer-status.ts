import { isIP } from 'node:net';
import type { KubeObject } from '../../kube/object.ts';
import { objectAt } from '../../schema/json.ts';
import { validateDns1123Subdomain } from '../../schema/names.ts';
import { ipAddress, oneOf, type Problems } from './field-checks.ts';
import { forbidden, invalidEach, invalidValue } from './field-errors.ts';
import { objectsOf, text } from './fields.ts';

const MODES: readonly string[] = ['Proxy', 'VIP'];

/** Where a load balancer is to be found, as it is told in the status of a Service or an Ingress. */
export function loadBalancerProblems(object: KubeObject): Problems {
  const path = 'status.loadBalancer.ingress';
  return objectsOf(objectAt(object, 'status', 'loadBalancer'), 'ingress').flatMap((ingress, index) => {
    const at = `${path}[${index}]`;
    const ip = text(ingress, 'ip');
    const problems: Problems = ip === '' ? [] : ipAddress(ip, `${at}.ip`);
    if (ingress.ipMode != null) {
      if (ip === '') problems.push(forbidden(`${at}.ipMode`, 'may not be specified when `ip` is not set'));
      else problems.push(...oneOf(ingress, at, 'ipMode', MODES));
    }
    const hostname = text(ingress, 'hostname');
    if (hostname !== '') {
      problems.push(...invalidEach(`${at}.hostname`, hostname, validateDns1123Subdomain(hostname)));
      if (isIP(hostname) !== 0)
        problems.push(invalidValue(`${at}.hostname`, hostname, 'must be a DNS name, not an IP address'));
    }
    return problems;
  });
}
