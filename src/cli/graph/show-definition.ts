import { jsonText } from '../../schema/json-text.ts';
import { documents } from './documents.ts';
import { type GraphOptions, rightGraphs } from './load.ts';

export interface ShowDefinitionOptions extends GraphOptions {
  readonly output?: 'json' | 'yaml';
}

/** Prints the CustomResourceDefinitions that definitions bring forth. */
export function showDefinitions(options: ShowDefinitionOptions): number {
  const objects = rightGraphs(options).graphs.map(({ definition }) => definition);
  process.stdout.write(
    options.output === 'json'
      ? `${jsonText(objects.length === 1 ? objects[0] : { apiVersion: 'v1', kind: 'List', items: objects }, 2)}\n`
      : documents(objects),
  );
  return 0;
}
