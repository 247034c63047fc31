import type { Client } from '../../kube/client.ts';
import type { KubeObject } from '../../kube/object.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { KubeFed } from '../kubefed/index.ts';
import { openGraphSources } from './graphs/index.ts';
import type { GoneIntent, IntentSource } from './intent-source.ts';
import { openKubeFedSources } from './kubefed/index.ts';
import type { KubeStellar } from './kubestellar/index.ts';
import { openPropagations } from './propagations.ts';
import type { IntentRecords } from './records.ts';

export type {
  CompileReading,
  GoneIntent,
  IntentFindings,
  IntentRecord,
  IntentSource,
} from './intent-source.ts';

/** An object that is an intent, and the dialect that it is written in. */
export interface IntentObject {
  readonly source: IntentSource;
  readonly object: KubeObject;
}

/** The intents of all dialects, by key. */
export interface Intents {
  get(key: string): IntentObject | undefined;
  keys(): Iterable<string>;
  /** Whether all that there are are known. */
  readonly synced: boolean;
  stop(): void;
}

/** What dialects need beside the API of the hub. */
export interface Dialects {
  /** The memory of those whose own status has no room for it. */
  readonly records: IntentRecords;
  readonly kubefed: KubeFed;
  readonly kubestellar: KubeStellar;
}

/** `onChange` hears of keys whose wish changed, with what is gone where nothing else remembers it. */
export function openIntents(
  runtime: Runtime,
  client: Client,
  { records, kubefed, kubestellar }: Dialects,
  onChange: (key: string, gone?: GoneIntent) => void,
): Intents {
  const kubefedSources = openKubeFedSources(runtime, client, records, kubefed, onChange);
  // A dialect joins the hub by being named here.
  const sources: readonly IntentSource[] = [
    openPropagations(runtime, client, onChange),
    ...kubefedSources.sources,
    ...openGraphSources(runtime, client, records, onChange),
    kubestellar.open(onChange) as unknown as IntentSource,
  ];
  return {
    get(key: string): IntentObject | undefined {
      const source = sources.find((candidate) => candidate.owns(key));
      const object = source?.get(key);
      return source && object ? { source, object } : undefined;
    },
    *keys(): Iterable<string> {
      for (const source of sources) for (const [key] of source.entries()) yield key;
    },
    get synced() {
      return sources.every((source) => source.synced);
    },
    stop(): void {
      kubefedSources.stop();
      for (const source of sources) source.stop();
    },
  };
}
