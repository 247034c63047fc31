import {
  ANNOTATIONS,
  type CompiledGraph,
  type InstanceStep,
  isSuspended,
  LABELS,
  reasonText,
  renderInstance,
} from '../../engine/graph/index.ts';
import { asJson, asObject, type KubeObject, parseApiVersion } from '../../kube/object.ts';
import { systemRuntime } from '../../runtime/runtime.ts';
import { applyDefaults } from '../../schema/defaults.ts';
import { clone } from '../../schema/json.ts';
import { prune } from '../../schema/prune.ts';
import { validateValue } from '../../schema/validate.ts';
import { type Manifest, readManifestFiles } from '../diff/manifest-files.ts';
import { harmless, plainPaint, printed, table } from '../output.ts';
import { atollVersion } from '../version.ts';
import { documents } from './documents.ts';
import { type GraphOptions, rightGraphs } from './load.ts';

export interface RenderOptions extends GraphOptions {
  /** The file with the instance; a Graph is one itself. */
  readonly instance?: string;
  /** Files with objects as they are in the cluster. */
  readonly observed?: readonly string[];
  readonly namespace: string;
  /** Say of each node how it is, instead of printing the objects. */
  readonly explain?: boolean;
  /** Keep the labels and annotations of the engine. */
  readonly marks?: boolean;
  readonly output?: 'json' | 'yaml';
}

/** Prints what an instance comes to. Returns the exit code: 1 where the instance is not valid or a node fails. */
export function renderGraph(options: RenderOptions): number {
  const { graphs, objects: graphObjects } = rightGraphs(options, true);
  if (options.instance === undefined && graphObjects.length === 0)
    throw new Error('what definitions come to takes an instance: --instance FILE');
  const instances = options.instance === undefined ? [] : readManifestFiles([options.instance], false);
  const observed = (options.observed ?? []).length > 0 ? readManifestFiles(options.observed ?? [], true) : [];
  let failed = false;
  let found = 0;
  const objects: KubeObject[] = [];
  const reports: object[] = [];
  const rendered = (graph: CompiledGraph, instance: KubeObject, alone: boolean): void => {
    found++;
    const step = renderInstance(
      graph,
      instance,
      observed.map(({ object }) => object),
      {
        owner: { name: graph.name, uid: 'offline', version: atollVersion(), alone },
        now: systemRuntime().clock.now(),
      },
    );
    if (step.nodes.some(({ state }) => state === 'ERROR')) failed = true;
    objects.push(...step.objects.map(({ object }) => (options.marks === true ? object : unmarked(object))));
    reports.push(...nodeReports(step));
    if (options.explain !== true) process.stderr.write(harmless(waitingText(step)));
    if (isSuspended(instance))
      process.stderr.write('the instance is suspended: nothing of this would be applied\n');
  };
  for (const manifest of instances) {
    const graph = graphOf(graphs, manifest.object);
    if (!graph) continue;
    const { instance, problems } = admitted(graph, manifest, options.namespace);
    if (problems.length > 0) {
      failed = true;
      found++;
      process.stderr.write(
        harmless(`${problems.map((problem) => `${manifest.at}: ${problem}`).join('\n')}\n`),
      );
    } else rendered(graph, instance, false);
  }
  for (const { graph, object } of graphObjects) {
    const { namespace = options.namespace, uid = 'offline', ...metadata } = object.metadata;
    if (graph) rendered(graph, { ...object, metadata: { ...metadata, namespace, uid } }, true);
  }
  if (found === 0)
    throw new Error(
      `${options.instance}: it holds no instance of ${graphs.map(({ instance }) => instance.kind).join(', ')}`,
    );
  if (options.explain === true) process.stdout.write(printed(reports, options.output, explained));
  else if (options.output === 'json') process.stdout.write(printed(objects, 'json', () => ''));
  else process.stdout.write(documents(objects));
  return failed ? 1 : 0;
}

function graphOf(graphs: readonly CompiledGraph[], object: KubeObject): CompiledGraph | undefined {
  const { group, version } = parseApiVersion(object.apiVersion);
  return graphs.find(
    ({ instance }) =>
      instance.kind === object.kind && instance.group === group && instance.version === version,
  );
}

/** The instance as an API server would keep it. */
export function admitted(
  graph: CompiledGraph,
  { object }: Manifest,
  namespace: string,
): { instance: KubeObject; problems: readonly string[] } {
  const value = clone(asJson(object));
  const type = { schema: graph.schema, resolve: () => undefined };
  const unknown = prune(value, type, { isResourceRoot: true });
  applyDefaults(value, type);
  const problems = [
    ...unknown.map((path) => `${path}: there is no such field`),
    ...validateValue(value, type).map(
      ({ path, detail, type: problem }) => `${path}: ${detail === '' ? problem : detail}`,
    ),
  ];
  const instance = asObject(value);
  if (graph.instance.namespaced) instance.metadata = { namespace, ...instance.metadata };
  return { instance: { ...instance, metadata: { uid: 'offline', ...instance.metadata } }, problems };
}

/** Without what the engine marks its objects with. */
function unmarked(object: KubeObject): KubeObject {
  const { labels = {}, annotations = {}, ...metadata } = object.metadata;
  const own = new Set<string>([...Object.values(LABELS), ...Object.values(ANNOTATIONS)]);
  const kept = (entries: Record<string, string>): Record<string, string> =>
    Object.fromEntries(Object.entries(entries).filter(([key]) => !own.has(key)));
  const [userLabels, userAnnotations] = [kept(labels), kept(annotations)];
  return {
    ...object,
    metadata: {
      ...metadata,
      ...(Object.keys(userLabels).length > 0 && { labels: userLabels }),
      ...(Object.keys(userAnnotations).length > 0 && { annotations: userAnnotations }),
    },
  };
}

interface ExplainedNode {
  readonly node: string;
  readonly state: string;
  readonly objects: number;
  readonly reasons: readonly string[];
}

function nodeReports(step: InstanceStep): ExplainedNode[] {
  return step.nodes.map(({ id, state, refs, reasons }) => ({
    node: id,
    state,
    objects: refs.length,
    reasons: reasons.map(reasonText),
  }));
}

function explained(reports: readonly object[]): string {
  const rows = (reports as readonly ExplainedNode[]).map(({ node, state, objects, reasons }) => [
    node,
    state,
    String(objects),
    reasons.join('; ') || '-',
  ]);
  return table(['NODE', 'STATE', 'OBJECTS', 'WHY'], rows, plainPaint);
}

function waitingText(step: InstanceStep): string {
  return nodeReports(step)
    .filter(({ state }) => state !== 'SYNCED')
    .map(({ node, state, reasons }) => `# ${node}: ${state}: ${reasons.join('; ')}\n`)
    .join('');
}
