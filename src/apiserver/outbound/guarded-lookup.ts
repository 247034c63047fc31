import { lookup as dnsLookup, type LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { deniedAddress } from '../../kube/cluster-endpoint.ts';

/** Looks a name up and refuses it when any of its addresses is one that nobody may send this server to. */
export const guardedLookup: LookupFunction = (hostname, options, callback) => {
  dnsLookup(hostname, { ...options, all: true }, (error, found) => {
    if (error) {
      callback(error, '', 0);
      return;
    }
    const addresses = found as LookupAddress[];
    for (const { address } of addresses) {
      const why = deniedAddress(address, { allowLoopback: true });
      if (why === undefined) continue;
      callback(new Error(`the server does not connect to ${hostname}: ${why}`), '', 0);
      return;
    }
    const [first] = addresses;
    if (options.all) callback(null, addresses);
    else if (first) callback(null, first.address, first.family);
    else callback(new Error(`the name ${hostname} has no address`), '', 0);
  });
};

/** Throws for an address that nobody may send this server to; a name passes, and is checked when it is looked up. */
export function checkAddress(host: string): void {
  const why = isIP(host) === 0 ? undefined : deniedAddress(host, { allowLoopback: true });
  if (why !== undefined) throw new Error(`the server does not connect to ${host}: ${why}`);
}
