import { type AskingOptions, ask } from '../output.ts';
import { readContracts } from './contracts.ts';
import { readDiff } from './facts.ts';
import { readManifestFiles } from './manifest-files.ts';
import { diffReport } from './report.ts';
import { diffText } from './text.ts';

export interface DiffOptions extends AskingOptions {
  readonly filename: readonly string[];
  readonly recursive: boolean;
  readonly namespace?: string;
}

/** Errors end with more than 1, so that scripts can tell them from changes. */
const FAILED = 2;

/** `atoll diff`: what applying files at the hub would do on which cluster. Ends with 0 for nothing, 1 for changes. */
export function showDiff(options: DiffOptions): Promise<void> {
  return ask(
    options,
    async ({ hub, paint, print }) => {
      const manifests = readManifestFiles(options.filename, options.recursive);
      const namespace = {
        name: options.namespace ?? hub.namespace,
        explicit: options.namespace !== undefined,
      };
      const facts = await readDiff(hub.client, manifests, namespace);
      const touched = new Set(diffReport(facts).groups.flatMap(({ clusters }) => clusters));
      const contracts = await readContracts([...touched], hub.spokeClient);
      const report = diffReport({ ...facts, contracts });
      print(report, (harmless) => diffText(harmless, paint));
      return report.groups.length === 0 ? 0 : 1;
    },
    FAILED,
  );
}
