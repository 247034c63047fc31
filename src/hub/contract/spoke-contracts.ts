import {
  type Contract,
  compileContract,
  SPOKE_CONTRACT,
  type SpokeContract,
} from '../../engine/contract/index.ts';
import { resourceIdOf } from '../../kube/custom-resource.ts';
import { errorText } from '../../runtime/log.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { Fleet } from '../fleet.ts';

/** The contracts of the spokes' owners, as far as the hub may and could read them. */
export interface SpokeContracts {
  /** Empty where there is none, or none is known: what is refused is told by the spoke in any case. */
  of(spoke: string): readonly Contract[];
}

const CONTRACTS = resourceIdOf(SPOKE_CONTRACT);
const NONE: readonly Contract[] = [];

interface Known {
  /** The spoke's word for its contracts. */
  readonly digest: string;
  contracts: readonly Contract[];
}

/**
 * Reads the contracts of a spoke when its own report says that they are others: nothing is watched or polled for it. `onChange`
 * hears of spokes whose contracts are known anew.
 */
export function spokeContracts(
  runtime: Runtime,
  fleet: Fleet,
  onChange: (spoke: string) => void,
): SpokeContracts {
  const known = new Map<string, Known>();

  fleet.onChange(({ spoke, dispatch }) => {
    if (dispatch !== undefined) return;
    const session = fleet.session(spoke);
    if (!session) {
      known.delete(spoke);
      return;
    }
    const cluster = session.cluster();
    const digest = cluster?.status?.contract ?? '';
    if (!cluster || (known.get(spoke)?.digest ?? '') === digest) return;
    const entry: Known = { digest, contracts: NONE };
    known.set(spoke, entry);
    if (digest === '') onChange(spoke);
    else
      read(spoke, entry).catch((error: unknown) => {
        // Its next report, or the next connection, tries again.
        if (known.get(spoke) === entry) known.delete(spoke);
        runtime.log.debug('the contracts of a spoke could not be read', { spoke, why: errorText(error) });
      });
  });

  async function read(spoke: string, entry: Known): Promise<void> {
    const list = await fleet.session(spoke)?.client.list<SpokeContract>(CONTRACTS, '');
    if (!list || known.get(spoke) !== entry) return;
    entry.contracts = list.items.map((item) => compileContract(item.metadata.name ?? '', item.spec));
    onChange(spoke);
  }

  return { of: (spoke) => known.get(spoke)?.contracts ?? NONE };
}
