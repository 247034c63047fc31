import type { Client } from '../../../kube/client.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import type { KubeFed } from '../../kubefed/index.ts';
import type { IntentSource } from '../intent-source.ts';
import type { IntentRecords } from '../records.ts';
import { openEarlySource } from './early-source.ts';
import { openFederatedSource } from './federated-source.ts';
import { openPolicySource } from './policy-source.ts';
import { OF_KUBEFED, startVanishedSweep } from './vanished.ts';

export interface KubeFedSources {
  readonly sources: readonly IntentSource[];
  /** Ends what looks after the sources, not the sources themselves. */
  stop(): void;
}

/** Objects of KubeFed's API, as intents. What they are remembered by is not in their own status, which is KubeFed's. */
export function openKubeFedSources(
  runtime: Runtime,
  client: Client,
  records: IntentRecords,
  kubefed: KubeFed,
  onChange: (key: string) => void,
): KubeFedSources {
  const { controlPlane, early, federation, remote, events } = kubefed;
  const authorsBelieved = (): boolean => kubefed.authorsBelieved;
  const sources: readonly IntentSource[] = [
    openFederatedSource(
      runtime,
      { controlPlane, federation, records, remote, events, authorsBelieved },
      onChange,
    ) as unknown as IntentSource,
    openEarlySource({ controlPlane, early, federation, records, events, authorsBelieved }, onChange),
    openPolicySource(
      { controlPlane, early, federation, records, events, authorsBelieved },
      onChange,
    ) as unknown as IntentSource,
  ];
  const sweep = startVanishedSweep(runtime, client, records, sources, {
    ...OF_KUBEFED,
    isOurs: (source) => OF_KUBEFED.isOurs(source) && controlPlane.sees(source.namespace),
    reader: controlPlane.client,
  });
  const unsubscribe = [federation, early].map((wished) => wished.onWish(sweep.lookAfter));
  return {
    sources,
    stop(): void {
      for (const end of unsubscribe) end();
      sweep.stop();
    },
  };
}
