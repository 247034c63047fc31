/**
 * Compile time: from a definition to a graph that instances run by.
 *
 * {@link compileGraph} checks names and schema, finds the kinds of the nodes, compiles templates and conditions against the types of all
 * nodes, orders the nodes, infers the schema of the status and makes the CustomResourceDefinition. Errors are {@link GraphIssue}s.
 */
export {
  type Compilation,
  type CompiledGraph,
  type CompileOptions,
  compileGraph,
  compileGraphObject,
} from './compile.ts';
export { type AuthorCondition, ENGINE_CONDITIONS } from './compile-status.ts';
export { type InstanceKind, instanceKindOf } from './crd.ts';
export { CONTRIBUTE, TARGET_CLUSTER } from './names.ts';
export { type ForEachDimension, type GraphNode, isExternal, isList, type NodeKind } from './node.ts';
export { pluralOf } from './plural.ts';
export { type Frame, nodesOf, pathsTo } from './uses.ts';
