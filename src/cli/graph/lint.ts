import type { CompiledGraph, GraphNode } from '../../engine/graph/index.ts';
import type { OpenApiSchema } from '../../schema/open-api-schema.ts';
import { harmless, printed } from '../output.ts';
import { type GraphOptions, someGraphs } from './load.ts';

export interface LintOptions extends GraphOptions {
  readonly output?: 'json' | 'yaml';
}

/** Something that is right and probably not meant. */
export interface LintFinding {
  readonly graph: string;
  /** Id of the node; absent for what belongs to the schema. */
  readonly node?: string;
  readonly rule: 'unused-field' | 'unused-value' | 'same-name' | 'no-readiness';
  readonly message: string;
}

/** Says of definitions and Graphs that are right what is probably not meant. Returns the exit code: 1 where there is something. */
export function lintGraphs(options: LintOptions): number {
  const files = someGraphs(options, true);
  const graphs = [...files.graphs, ...files.objects];
  const wrong = graphs.find(({ graph }) => graph === undefined);
  if (wrong) throw new Error(`${wrong.at}: ${wrong.name} is not right; atoll graph validate says why`);
  const findings = graphs.flatMap(({ graph }) => (graph ? findingsOf(graph) : []));
  process.stdout.write(printed(findings, options.output, (items) => harmless(items.map(textOf).join(''))));
  return findings.length === 0 ? 0 : 1;
}

function textOf({ graph, node, rule, message }: LintFinding): string {
  return `${graph}${node === undefined ? '' : `: node ${node}`}: ${message} (${rule})\n`;
}

/** Kinds that are there long before they work. */
const TAKE_TIME = new Set([
  'apps/Deployment',
  'apps/StatefulSet',
  'apps/DaemonSet',
  'batch/Job',
  'apiextensions.k8s.io/CustomResourceDefinition',
]);

export function findingsOf(graph: CompiledGraph): LintFinding[] {
  const sources = expressionsOf(graph);
  const findings: LintFinding[] = [];
  const used = new Set<string>();
  let whole = false;
  for (const source of sources) {
    for (const [, field] of source.matchAll(/\bschema\.spec(?:\.\??([A-Za-z_]\w*))?/g))
      if (field === undefined) whole = true;
      else used.add(field);
    if (/\bschema\b(?!\.(spec|metadata|apiVersion|kind)\b)/.test(source)) whole = true;
  }
  // A Graph has no fields of its own.
  const spec = graph.gating === 'Scope' ? undefined : graph.schema.properties?.['spec'];
  const fields = (spec as OpenApiSchema | undefined)?.properties ?? {};
  for (const name of whole ? [] : Object.keys(fields))
    if (!used.has(name))
      findings.push({
        graph: graph.name,
        rule: 'unused-field',
        message: `no expression uses the field spec.${name}`,
      });
  for (const node of graph.nodes) findings.push(...nodeFindings(graph, node, sources));
  return findings;
}

function nodeFindings(graph: CompiledGraph, node: GraphNode, sources: readonly string[]): LintFinding[] {
  const findings: LintFinding[] = [];
  const say = (rule: LintFinding['rule'], message: string): void => {
    findings.push({ graph: graph.name, node: node.id, rule, message });
  };
  const dependants = graph.nodes.filter(({ dependencies }) => dependencies.includes(node.id));
  if (node.kind === 'Value') {
    const word = new RegExp(`\\b${node.local}\\b`);
    if (dependants.length === 0 && !sources.some((source) => word.test(source)))
      say('unused-value', 'nothing uses it');
    return findings;
  }
  if (node.kind !== 'Resource') return findings;
  const takesTime = node.readyWhen.length === 0 && TAKE_TIME.has(`${node.of.group}/${node.of.kind}`);
  if (graph.gating === 'Scope') {
    // It is its only instance, and its nodes wait for what is there.
    if (takesTime && node.patches === undefined)
      say('no-readiness', 'the Graph is ready before it works: it has no readyWhen');
    return findings;
  }
  const identity = node.template.fields.filter(
    ({ path }) => path[0] === 'metadata' && (path[1] === 'name' || path[1] === 'namespace'),
  );
  const placed = (node.template.value['metadata'] as { namespace?: unknown } | undefined)?.namespace;
  const apart = identity.length > 0 || (node.namespaced && graph.instance.namespaced && placed === undefined);
  if (!node.contributes && !apart)
    say('same-name', 'every instance makes an object of this name; only one of them can have it');
  else if (!node.contributes && !identity.some(({ path }) => path[1] === 'name'))
    say(
      'same-name',
      'all instances of a namespace make an object of this name; only one of them can have it',
    );
  if (takesTime && dependants.length > 0)
    say(
      'no-readiness',
      `${dependants.map(({ id }) => id).join(', ')} may come before it works: it has no readyWhen`,
    );
  return findings;
}

function expressionsOf({ nodes, status, conditions }: CompiledGraph): string[] {
  const texts = [...nodes.flatMap(({ template }) => template.fields), ...status.fields].flatMap(({ parts }) =>
    parts.flatMap((part) => (typeof part === 'string' ? [] : [part.source])),
  );
  const others = nodes.flatMap(({ forEach, includeWhen, readyWhen, propagateWhen }) => [
    ...forEach.map(({ expression }) => expression),
    ...includeWhen,
    ...readyWhen,
    ...propagateWhen,
  ]);
  return [
    ...texts,
    ...[...others, ...conditions.map(({ expression }) => expression)].map(({ source }) => source),
  ];
}
