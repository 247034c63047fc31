import { type CompiledGraph, type DesiredObject, renderInstance } from '../../engine/graph/index.ts';
import { asJson, parseApiVersion, refKey, refText } from '../../kube/object.ts';
import { systemRuntime } from '../../runtime/runtime.ts';
import { deepEqual, isObject, type JsonValue } from '../../schema/json.ts';
import { type Manifest, readManifestFiles } from '../diff/manifest-files.ts';
import { harmless, printed } from '../output.ts';
import { atollVersion } from '../version.ts';
import { type GraphOptions, rightGraphs } from './load.ts';
import { admitted } from './render.ts';

export interface PreviewOptions extends GraphOptions {
  /** Files with the definitions as they were. */
  readonly from: readonly string[];
  /** Files with instances. */
  readonly instance: readonly string[];
  readonly namespace: string;
  readonly output?: 'json' | 'yaml';
}

interface ObjectChange {
  readonly instance: string;
  readonly object: string;
  readonly change: 'made' | 'removed' | 'changed';
  /** `spec.replicas: 1 -> 2` */
  readonly fields: readonly string[];
}

/** Says what of instances would change with definitions, object by object. Returns the exit code: 1 where something would. */
export function previewGraphs(options: PreviewOptions): number {
  const before = rightGraphs({ ...options, filename: options.from }).graphs;
  const after = rightGraphs(options).graphs;
  const instances = readManifestFiles(options.instance, true);
  const changes = instances.flatMap((manifest) => changesOf(manifest, before, after, options.namespace));
  process.stdout.write(
    printed(changes, options.output, (items) =>
      harmless(items.length === 0 ? 'nothing changes\n' : items.map(textOf).join('')),
    ),
  );
  return changes.length === 0 ? 0 : 1;
}

const SIGNS = { made: '+', removed: '-', changed: '~' } as const;

function textOf({ instance, object, change, fields }: ObjectChange): string {
  return `${SIGNS[change]} ${instance}: ${object}\n${fields.map((field) => `    ${field}\n`).join('')}`;
}

function changesOf(
  manifest: Manifest,
  before: readonly CompiledGraph[],
  after: readonly CompiledGraph[],
  namespace: string,
): ObjectChange[] {
  const { object, at } = manifest;
  const of = (graphs: readonly CompiledGraph[]): CompiledGraph | undefined => {
    const { group } = parseApiVersion(object.apiVersion);
    return graphs.find(({ instance }) => instance.kind === object.kind && instance.group === group);
  };
  const graphs = [of(before), of(after)] as const;
  if (!graphs[0] && !graphs[1]) throw new Error(`${at}: no definition makes a ${object.kind}`);
  const time = systemRuntime().clock.now();
  const [old, now] = graphs.map((graph) => rendered(graph, manifest, namespace, time));
  const keys = [...new Set([...(old?.keys() ?? []), ...(now?.keys() ?? [])])];
  const instance = `${object.kind} ${object.metadata.name}`;
  return keys.flatMap((key): ObjectChange[] => {
    const [was, is] = [old?.get(key), now?.get(key)];
    const name = refText((is ?? was)?.ref ?? { apiVersion: '', kind: '', namespace: '', name: key });
    if (!was || !is) return [{ instance, object: name, change: is ? 'made' : 'removed', fields: [] }];
    const fields: string[] = [];
    differences(asJson(was.object), asJson(is.object), '', fields);
    return fields.length === 0 ? [] : [{ instance, object: name, change: 'changed', fields }];
  });
}

function rendered(
  graph: CompiledGraph | undefined,
  manifest: Manifest,
  namespace: string,
  now: number,
): Map<string, DesiredObject> {
  if (!graph) return new Map();
  const { instance, problems } = admitted(graph, manifest, namespace);
  if (problems.length > 0)
    throw new Error(problems.map((problem) => `${manifest.at}: ${problem}`).join('\n'));
  const owner = { name: graph.name, uid: 'offline', version: atollVersion() };
  const { objects } = renderInstance(graph, instance, [], { owner, now });
  return new Map(objects.map((item) => [refKey(item.ref), item]));
}

/** What the engine itself writes is no change of the author's. */
const IGNORED = /^metadata\.(labels|annotations)\[?.*kro\.run\//;

function differences(
  was: JsonValue | undefined,
  is: JsonValue | undefined,
  path: string,
  out: string[],
): void {
  if (deepEqual(was, is) || IGNORED.test(path)) return;
  if (isObject(was) && isObject(is)) {
    for (const key of new Set([...Object.keys(was), ...Object.keys(is)])) {
      const step = /^[\w-]+$/.test(key) ? `${path === '' ? '' : '.'}${key}` : `["${key}"]`;
      differences(was[key], is[key], `${path}${step}`, out);
    }
  } else if (Array.isArray(was) && Array.isArray(is) && was.length === is.length)
    for (const [index, item] of was.entries()) differences(item, is[index], `${path}[${index}]`, out);
  else out.push(`${path}: ${shown(was)} -> ${shown(is)}`);
}

function shown(value: JsonValue | undefined): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
