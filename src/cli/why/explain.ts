import { type AskingOptions, ask } from '../output.ts';
import { parseAsked, readWhy } from './facts.ts';
import { whyReport } from './report.ts';
import { whyText } from './text.ts';

export interface WhyOptions extends AskingOptions {
  readonly namespace?: string;
  readonly cluster?: string;
}

/** `atoll why`: from an object at the hub to what became of it on the clusters, step by step. */
export function explain(words: readonly string[], options: WhyOptions): Promise<void> {
  return ask(options, async ({ hub, now, paint, print }) => {
    const asked = {
      ...parseAsked(words),
      namespace: options.namespace ?? hub.namespace,
      ...(options.cluster === undefined ? {} : { cluster: options.cluster }),
    };
    const facts = await readWhy(hub.client, hub.spokeClient, asked, now);
    print(whyReport(facts), (report) => whyText(report, options.cluster !== undefined, now, paint));
    return 0;
  });
}
