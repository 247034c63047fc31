import { at, isObject, type JsonValue, listAt, stringAt } from '../../schema/json.ts';
import { compileContract } from './contract.ts';
import type { SpokeContractSpec } from './kind.ts';

/**
 * Whether the owner of a cluster lets a service be reached by way of the hub: some contract names services, each that does
 * names this one, and none is there that cannot be understood. `contracts` are the items of a list of SpokeContracts, as they
 * are. `id` is as in the path of the proxy.
 */
export function allowsService(contracts: readonly JsonValue[], namespace: string, id: string): boolean {
  const about = contracts.filter((contract) => at(contract, 'spec', 'services') !== undefined);
  return (
    about.length > 0 &&
    about.every((contract) =>
      listAt(contract, 'spec', 'services').some(
        (one) => stringAt(one, 'namespace') === namespace && listAt(one, 'names').includes(id),
      ),
    ) &&
    contracts.every(isUnderstood)
  );
}

function isUnderstood(contract: JsonValue): boolean {
  const spec = at(contract, 'spec');
  return isObject(spec) && compileContract('', spec as unknown as SpokeContractSpec).problems.length === 0;
}

/** What somebody is told who may not. */
export function serviceRefusal(namespace: string, id: string): string {
  return `forbidden: no SpokeContract of the cluster names the service ${JSON.stringify(id)} of the namespace ${namespace} in spec.services`;
}

/** Where the contracts of a cluster are listed. */
export const CONTRACTS_PATH = '/apis/atoll.dev/v1alpha1/spokecontracts';
