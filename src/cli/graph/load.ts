import { definitionOf, graphOf, isGraphDefinition, isGraphObject } from '../../dialects/kro/index.ts';
import {
  type CompiledGraph,
  compileGraph,
  compileGraphObject,
  type GraphIssue,
} from '../../engine/graph/index.ts';
import type { KubeObject } from '../../kube/object.ts';
import { type Manifest, readManifestFiles } from '../diff/manifest-files.ts';
import { isKindDefinition, kindsOf } from './known-kinds.ts';

export interface GraphOptions {
  readonly filename: readonly string[];
  /** Files or directories with CustomResourceDefinitions. */
  readonly schemas?: readonly string[];
  readonly allowUnknownKinds?: boolean;
  readonly featureGates?: readonly string[];
}

/** A ResourceGraphDefinition of a file, or a Graph, and what became of it. */
export interface LoadedGraph {
  readonly name: string;
  /** File and line. */
  readonly at: string;
  readonly object: KubeObject;
  readonly graph?: CompiledGraph;
  readonly issues: readonly GraphIssue[];
  readonly warnings: readonly GraphIssue[];
}

export interface LoadedFiles {
  readonly graphs: readonly LoadedGraph[];
  /** Objects of the kind Graph. */
  readonly objects: readonly LoadedGraph[];
  /** Everything else that the files hold. */
  readonly others: readonly Manifest[];
}

/**
 * Reads and compiles all definitions of files. Kinds come from the files, from `--schemas`, from the built-in ones, and from the other
 * definitions: a graph may be made of instances of another one.
 */
export function loadGraphs(options: GraphOptions): LoadedFiles {
  const manifests = readManifestFiles(options.filename, true);
  const extra = options.schemas && options.schemas.length > 0 ? readManifestFiles(options.schemas, true) : [];
  const definitions = [...extra, ...manifests].map(({ object }) => object).filter(isKindDefinition);
  const compileWith = {
    omit: options.featureGates?.includes('CELOmitFunction=true') === true,
    dynamicKeys: options.featureGates?.includes('DynamicTemplateKeys=true') === true,
    allowUnknownKinds: false,
  };
  const loaded = new Map<Manifest, LoadedGraph>();
  let open = manifests.filter(({ object }) => isGraphDefinition(object));
  let allowUnknownKinds = false;
  while (open.length > 0) {
    const generated = [...loaded.values()].flatMap(({ graph }) => (graph ? [graph.definition] : []));
    const schemas = kindsOf([...generated, ...definitions]);
    const results = open.map((manifest) => load(manifest, { ...compileWith, allowUnknownKinds, schemas }));
    const good = results.filter(({ graph }) => graph !== undefined);
    for (const [index, manifest] of open.entries()) {
      const result = results[index];
      if (
        result &&
        (result.graph || (good.length === 0 && (allowUnknownKinds || options.allowUnknownKinds !== true)))
      )
        loaded.set(manifest, result);
    }
    // Those that fail may only have come before another one whose kind they use. Unknown kinds are for what is left then.
    if (good.length === 0) allowUnknownKinds = true;
    open = open.filter((manifest) => !loaded.has(manifest));
  }
  const generated = [...loaded.values()].flatMap(({ graph }) => (graph ? [graph.definition] : []));
  const schemas = kindsOf([...generated, ...definitions]);
  const lastly = { ...compileWith, allowUnknownKinds: options.allowUnknownKinds === true, schemas };
  return {
    graphs: manifests.flatMap((manifest) => loaded.get(manifest) ?? []),
    objects: manifests
      .filter(({ object }) => isGraphObject(object))
      .map((manifest) => loadObject(manifest, lastly)),
    others: manifests.filter((manifest) => !loaded.has(manifest) && !isGraphObject(manifest.object)),
  };
}

function loadObject({ object, at }: Manifest, options: Parameters<typeof compileGraph>[1]): LoadedGraph {
  const base = { name: object.metadata.name ?? '', at, object };
  const { definition, issues } = graphOf(object);
  if (!definition) return { ...base, issues, warnings: [] };
  const { graph, issues: found = [], warnings } = compileGraphObject(definition, options);
  return { ...base, ...(graph && { graph }), issues: found, warnings };
}

function load({ object, at }: Manifest, options: Parameters<typeof compileGraph>[1]): LoadedGraph {
  const name = object.metadata.name ?? '';
  const base = { name, at, object };
  const { definition, issues } = definitionOf(object);
  if (!definition) return { ...base, issues, warnings: [] };
  const { graph, issues: found = [], warnings } = compileGraph(definition, options);
  return { ...base, ...(graph && { graph }), issues: found, warnings };
}

/** The definitions of files, where there are any; where Graphs do as well, one of these is enough. */
export function someGraphs(options: GraphOptions, withObjects = false): LoadedFiles {
  const files = loadGraphs(options);
  if (files.graphs.length === 0 && !(withObjects && files.objects.length > 0))
    throw new Error(
      `${options.filename.join(', ')}: there is no ResourceGraphDefinition (kro.run/v1alpha1)${withObjects ? ' and no Graph' : ''} in it`,
    );
  return files;
}

/** The compiled graphs of files; throws where one of them is wrong. */
export function rightGraphs(
  options: GraphOptions,
  withObjects = false,
): {
  graphs: readonly CompiledGraph[];
  objects: readonly LoadedGraph[];
  others: readonly Manifest[];
} {
  const { graphs, objects, others } = someGraphs(options, withObjects);
  const wrong = [...graphs, ...(withObjects ? objects : [])].filter(({ graph }) => graph === undefined);
  if (wrong.length > 0)
    throw new Error(
      `${wrong.map(({ at, name }) => `${at}: ${name}`).join(', ')} is not right; atoll graph validate says why`,
    );
  return { graphs: graphs.flatMap(({ graph }) => (graph ? [graph] : [])), objects, others };
}
