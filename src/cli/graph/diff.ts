import { type CompiledGraph, compareDefinitions, type DefinitionChange } from '../../engine/graph/index.ts';
import { deepEqual } from '../../schema/json.ts';
import { harmless, printed } from '../output.ts';
import { type GraphOptions, type LoadedGraph, someGraphs } from './load.ts';

export interface DiffOptions extends GraphOptions {
  /** Files with the definitions as they were. */
  readonly from: readonly string[];
  readonly output?: 'json' | 'yaml';
}

interface GraphDifference {
  readonly name: string;
  readonly change: 'added' | 'removed' | 'changed' | 'same';
  readonly revision: { readonly from?: string; readonly to?: string };
  readonly nodes: readonly { readonly id: string; readonly change: 'added' | 'removed' | 'changed' }[];
  readonly api: readonly DefinitionChange[];
}

/** Says what changes between two states of definitions. Returns the exit code: 1 where something does. */
export function diffGraphs(options: DiffOptions): number {
  const before = compiled({ ...options, filename: options.from });
  const after = compiled(options);
  const names = [...new Set([...before.keys(), ...after.keys()])].sort();
  const report = names.map((name) => differenceOf(name, before.get(name), after.get(name)));
  process.stdout.write(printed(report, options.output, (items) => harmless(items.map(textOf).join(''))));
  return report.every(({ change }) => change === 'same') ? 0 : 1;
}

interface Side {
  readonly loaded: LoadedGraph;
  readonly graph: CompiledGraph;
}

function compiled(options: GraphOptions): Map<string, Side> {
  return new Map(
    someGraphs(options).graphs.map((loaded) => {
      if (!loaded.graph)
        throw new Error(`${loaded.at}: ${loaded.name} is not right; atoll graph validate says why`);
      return [loaded.name, { loaded, graph: loaded.graph }];
    }),
  );
}

function differenceOf(name: string, before: Side | undefined, after: Side | undefined): GraphDifference {
  const revision = {
    ...(before && { from: before.graph.digest.hash }),
    ...(after && { to: after.graph.digest.hash }),
  };
  if (!before || !after) return { name, change: before ? 'removed' : 'added', revision, nodes: [], api: [] };
  const nodes = nodeChanges(before.graph, after.graph);
  const { changes } = compareDefinitions(before.graph.definition, after.graph.definition);
  const same = revision.from === revision.to;
  return { name, change: same ? 'same' : 'changed', revision, nodes, api: changes };
}

function nodeChanges(before: CompiledGraph, after: CompiledGraph): GraphDifference['nodes'] {
  const [old, now] = [before, after].map(
    (graph) => new Map(graph.nodes.map((node) => [node.id, written(node)])),
  );
  const ids = [...new Set([...(old?.keys() ?? []), ...(now?.keys() ?? [])])].sort();
  return ids.flatMap((id): GraphDifference['nodes'][number][] => {
    const [was, is] = [old?.get(id), now?.get(id)];
    if (was === undefined) return [{ id, change: 'added' }];
    if (is === undefined) return [{ id, change: 'removed' }];
    return deepEqual(was, is) ? [] : [{ id, change: 'changed' }];
  });
}

/** What an author wrote of a node. */
function written({
  kind,
  template,
  forEach,
  includeWhen,
  readyWhen,
  propagateWhen,
}: CompiledGraph['nodes'][number]): object {
  return {
    kind,
    template: template.value,
    forEach: forEach.map(({ variable, expression }) => [variable, expression.source]),
    includeWhen: includeWhen.map(({ source }) => source).sort(),
    readyWhen: readyWhen.map(({ source }) => source).sort(),
    propagateWhen: propagateWhen.map(({ source }) => source).sort(),
  };
}

const SIGNS = { added: '+', removed: '-', changed: '~' } as const;

function textOf({ name, change, revision, nodes, api }: GraphDifference): string {
  const head = [revision.from, revision.to].filter((item) => item !== undefined).join(' -> ');
  const lines = [`${name}: ${change}${change === 'same' ? '' : ` (${head})`}`];
  for (const node of nodes) lines.push(`  ${SIGNS[node.change]} node ${node.id}`);
  for (const { path, message, breaking } of api)
    lines.push(`  ${breaking ? '! breaking: ' : '~ '}${path}: ${message}`);
  return `${lines.join('\n')}\n`;
}
