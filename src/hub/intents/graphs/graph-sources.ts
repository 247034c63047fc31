import type { Client } from '../../../kube/client.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import type { IntentSource } from '../intent-source.ts';
import type { IntentRecords } from '../records.ts';
import { openGraphDefinitions } from './graph-definitions.ts';
import { openGraphSource } from './graph-source.ts';
import { openRemoteSource } from './remote-source.ts';

/** Definitions, and what their instances put on other clusters. */
export function openGraphSources(
  runtime: Runtime,
  client: Client,
  records: IntentRecords,
  onChange: (key: string) => void,
): readonly IntentSource[] {
  const graphs = openGraphDefinitions(runtime, client);
  return [
    openGraphSource(runtime, client, records, graphs, onChange) as unknown as IntentSource,
    openRemoteSource(runtime, client, records, graphs, onChange) as unknown as IntentSource,
  ];
}
