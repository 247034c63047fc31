import { issueText } from '../../engine/graph/index.ts';
import { harmless, printed } from '../output.ts';
import { type GraphOptions, type LoadedGraph, someGraphs } from './load.ts';

export interface ValidateOptions extends GraphOptions {
  readonly output?: 'json' | 'yaml';
}

/** Says what is wrong with the definitions of files. Returns the exit code: 1 where something is. */
export function validateGraphs(options: ValidateOptions): number {
  const files = someGraphs(options, true);
  const graphs = [...files.graphs, ...files.objects];
  const report = { valid: graphs.every(({ graph }) => graph !== undefined), graphs: graphs.map(reportOf) };
  process.stdout.write(printed(report, options.output, () => harmless(graphs.map(textOf).join(''))));
  return report.valid ? 0 : 1;
}

function reportOf({ name, at, graph, issues, warnings }: LoadedGraph): object {
  return {
    name,
    at,
    valid: graph !== undefined,
    ...(graph && {
      kind: `${graph.instance.group}/${graph.instance.version} ${graph.instance.kind}`,
      revision: graph.digest.hash,
      nodes: graph.nodes.map(({ id, kind, wave, dependencies }) => ({ id, kind, wave, dependencies })),
    }),
    ...(issues.length > 0 && { issues }),
    ...(warnings.length > 0 && { warnings }),
  };
}

function textOf({ name, at, graph, issues, warnings }: LoadedGraph): string {
  const lines = warnings.map((issue) => `${at}: warning: ${issueText(issue)}`);
  if (graph) {
    const nodes = graph.nodes.map(({ id }) => id).join(', ');
    const count = `${graph.nodes.length} ${graph.nodes.length === 1 ? 'node' : 'nodes'}`;
    lines.push(
      `${name}: ok, ${graph.gating === 'Scope' ? 'a Graph' : graph.instance.kind} of ${count}${nodes === '' ? '' : `: ${nodes}`}`,
    );
  } else lines.push(`${name}: not valid`, ...issues.map((issue) => `${at}: ${issueText(issue)}`));
  return `${lines.join('\n')}\n`;
}
