/** Words that no node and no variable may be called: names of expressions, of kro, and those kept for what may come. */
const RESERVED: ReadonlySet<string> = new Set([
  ...['apiVersion', 'context', 'dependency', 'dependencies', 'each', 'externalRef', 'externalReference'],
  ...['externalRefs', 'externalReferences', 'graph', 'instance', 'item', 'items', 'kind', 'kro', 'metadata'],
  ...['namespace', 'object', 'resource', 'resources', 'resourcegraphdefinition', 'resourceGraphDefinition'],
  ...[
    'root',
    'runtime',
    'schema',
    'self',
    'serviceAccountName',
    'spec',
    'status',
    'this',
    'variables',
    'vars',
  ],
  ...['version'],
  // Of the language itself.
  ...['true', 'false', 'null', 'in', 'as', 'break', 'const', 'continue', 'else', 'for', 'function', 'if'],
  ...['import', 'let', 'loop', 'package', 'return', 'var', 'void', 'while'],
]);

const NAME = /^[a-z][a-zA-Z0-9]*$/;
const NODE_OF_GRAPH = /^[A-Za-z][a-zA-Z0-9]*$/;

/** What is wrong with the id of a node or the name of a variable. Nodes of a Graph may begin with a capital. */
export function nameProblem(
  name: string,
  ofGraph = false,
): { message: string; expected: string } | undefined {
  if (ofGraph && !RESERVED.has(name) && NODE_OF_GRAPH.test(name)) return undefined;
  if (!NAME.test(name))
    return {
      message: `"${name}" is no name for it`,
      expected: 'lowerCamelCase: a lower-case letter, then letters and digits',
    };
  if (RESERVED.has(name)) return { message: `"${name}" is a reserved word`, expected: 'another name' };
  return undefined;
}

/** Prefixes of labels and annotations that the engine writes itself. */
export const OWN_PREFIXES = ['kro.run/', 'internal.kro.run/'] as const;

/**
 * In the template of a node with a target: the name of the cluster that its objects go to, or `namespace/name` of the Secret that leads
 * there. It is not on the objects.
 */
export const TARGET_CLUSTER = 'atoll.dev/target-cluster';

/** On a template, `"true"`: its fields are added to an object that is somebody else's. */
export const CONTRIBUTE = 'atoll.dev/contribute';

export function isOwnKey(key: string): boolean {
  return OWN_PREFIXES.some((prefix) => key.startsWith(prefix));
}
