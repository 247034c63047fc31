import { readLinkNotice } from '../../hub/join/index.ts';
import type { Client } from '../../kube/client.ts';
import { certificateIdentity, PkiError } from '../../kube/pki.ts';
import { hasCode } from '../../kube/status-error.ts';
import { fleetDirectory, readFleet } from '../fleet-directory.ts';
import { readFleetAtHub } from '../fleet-reading.ts';
import { dirOption, HubUnreachable } from '../hub-access.ts';
import { type Asking, type AskingOptions, ask } from '../output.ts';
import { type StatusFacts, statusReport } from './report.ts';
import { statusText } from './text.ts';

/** `atoll status`: the fleet at a glance. Ends with 1 where the hub cannot be reached. */
export function showStatus(options: AskingOptions): Promise<void> {
  return ask(options, async (asking) => {
    const facts = await readStatus(asking, options);
    asking.print(statusReport(facts), (report) => statusText(report, asking.now, asking.paint));
    return facts.hub.reachable ? 0 : 1;
  });
}

async function readStatus({ hub, now }: Asking, options: AskingOptions): Promise<StatusFacts> {
  const base = {
    now,
    server: hub.server,
    context: hub.context,
    members: membersOf(options.dir),
    dirOption: dirOption(options.dir),
  };
  try {
    const [version, fleet, linkAuthorityEnds] = await Promise.all([
      hub.client.getJson<{ gitVersion?: string }>('/version'),
      readFleetAtHub(hub.client),
      readLinkAuthorityEnd(hub.client),
    ]);
    return {
      ...base,
      hub: { reachable: true, version: version.gitVersion ?? '' },
      fleet,
      ...(linkAuthorityEnds === undefined ? {} : { linkAuthorityEnds }),
    };
  } catch (error) {
    if (!(error instanceof HubUnreachable)) throw error;
    return { ...base, hub: { reachable: false, message: error.message, next: error.next } };
  }
}

/** Who may not read what spokes are told is told the rest. */
async function readLinkAuthorityEnd(client: Client): Promise<number | undefined> {
  try {
    const ca = (await readLinkNotice(client))?.ca;
    return ca === undefined ? undefined : certificateIdentity(ca).notAfter;
  } catch (error) {
    if (hasCode(error, 403) || error instanceof PkiError) return undefined;
    throw error;
  }
}

/** Clusters with a process of their own on this machine. */
function membersOf(dir: string): string[] {
  return (readFleet(fleetDirectory(dir))?.members ?? []).map((member) => member.name);
}
