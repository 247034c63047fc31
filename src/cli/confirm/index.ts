/**
 * `atoll hub confirm`: a hub that was restored from an old state only observes. This shows where the spokes are ahead of it, and
 * with `--yes` lets it act again, with a word that counts more than what was said before.
 */
import { DISPATCH, type Dispatch, dispatchName, SYSTEM_NAMESPACE } from '../../engine/dispatch/index.ts';
import { confirmHub, readHubMode } from '../../hub/mode.ts';
import { resourceIdOf } from '../../kube/custom-resource.ts';
import { errorText } from '../../runtime/log.ts';
import { readFleetAtHub } from '../fleet-reading.ts';
import { type Asking, type AskingOptions, ask, table } from '../output.ts';

interface ConfirmReport {
  /** Why the hub observes; '' where it acts. */
  readonly observing: string;
  readonly since: string;
  readonly spokes: readonly SpokeLine[];
  /** The epoch from now on; absent where nothing was confirmed. */
  readonly epoch?: number;
}

interface SpokeLine {
  readonly cluster: string;
  readonly dispatch: string;
  /** Generation on the spoke; undefined where the spoke cannot be asked. */
  readonly there?: number;
  readonly here: number;
  readonly note: string;
}

const DISPATCHES = resourceIdOf(DISPATCH);

/** Ends with 1 where the hub observes and nothing was confirmed. */
export function confirm(options: AskingOptions & { readonly yes?: boolean }): Promise<void> {
  return ask(options, async (asking) => {
    const { client } = asking.hub;
    const mode = await readHubMode(client);
    const report: ConfirmReport = {
      observing: mode.observing ?? '',
      since: mode.since ?? '',
      spokes: mode.observing === undefined ? [] : await spokesAhead(asking),
      ...(mode.observing !== undefined && options.yes === true ? { epoch: await confirmHub(client) } : {}),
    };
    asking.print(report, (printed) => textOf(printed, asking));
    return report.observing !== '' && report.epoch === undefined ? 1 : 0;
  });
}

async function spokesAhead({ hub }: Asking): Promise<SpokeLine[]> {
  const { propagations, clusters } = await readFleetAtHub(hub.client);
  const known = new Map(
    propagations.map((propagation) => {
      const { namespace = '', name = '', uid = '' } = propagation.metadata;
      return [
        dispatchName({ kind: propagation.kind, namespace, name, uid }),
        propagation.status?.dispatchGeneration ?? 0,
      ];
    }),
  );
  const lines = await Promise.all(
    clusters.map(async (cluster): Promise<SpokeLine[]> => {
      const name = cluster.metadata.name ?? '';
      try {
        const found = await hub.spokeClient(name).list<Dispatch>(DISPATCHES, SYSTEM_NAMESPACE);
        return found.items.map((item) => {
          const dispatch = item.metadata.name ?? '';
          const there = item.spec.position.generation;
          const here = known.get(dispatch);
          const note =
            here === undefined
              ? 'unknown to the hub: stays as it is'
              : there > here
                ? 'ahead of the hub'
                : '';
          return { cluster: name, dispatch, there, here: here ?? 0, note };
        });
      } catch (error) {
        return [{ cluster: name, dispatch: '', here: 0, note: `cannot be asked: ${errorText(error)}` }];
      }
    }),
  );
  return lines.flat();
}

function textOf(report: ConfirmReport, { paint }: Asking): string {
  if (report.observing === '') return 'The hub acts; there is nothing to confirm.\n';
  const rows = report.spokes.map(({ cluster, dispatch, there, here, note }) => [
    cluster,
    dispatch,
    there === undefined ? '' : String(there),
    String(here),
    note,
  ]);
  const head = `${paint('warn', 'The hub only observes')} since ${report.since}: ${report.observing}\n\n${table(
    ['CLUSTER', 'DISPATCH', 'GENERATION THERE', 'HERE', 'NOTE'],
    rows,
    paint,
  )}\n`;
  if (report.epoch !== undefined)
    return `${head}Confirmed: the hub acts again, with epoch ${report.epoch}. Spokes take what it says now.\n`;
  return `${head}Bring back at the hub what is missing there; what it holds will replace what the spokes have. Then: atoll hub confirm --yes\n`;
}
