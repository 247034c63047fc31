import { type Frame, type GraphNode, nodesOf, pathsTo } from '../compile/index.ts';
import { budgetLeft, costOfWalk } from '../expression/index.ts';
import { isReady, type Walk } from './walk.ts';

/** What the expressions of a node see, by the names of its scope. */
export function bindingsFor(walk: Walk, node: GraphNode): Readonly<Record<string, unknown>> {
  const { bindings, ahead } = walk;
  const soft = node.soft.filter((id) => bindings[id] === undefined && ahead[id] !== undefined);
  const seen =
    soft.length === 0 ? bindings : { ...bindings, ...Object.fromEntries(soft.map((id) => [id, ahead[id]])) };
  return node.frame ? { ...seen, ...inFrame(node.frame, seen) } : seen;
}

/** The values of the nodes that a frame leads to; a graph within is an object of those that are there. */
function inFrame(frame: Frame, values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(frame).map(([name, target]) => [
      name,
      typeof target === 'string' ? values[target] : there(inFrame(target, values)),
    ]),
  );
}

function there(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

/** The ids of nodes that a name of an expression stands for. */
export function nodesNamed({ frame }: GraphNode, name: string): readonly string[] {
  if (!frame) return [name];
  const target = Object.hasOwn(frame, name) ? frame[name] : undefined;
  return target === undefined ? [] : nodesOf(target);
}

/**
 * Of the nodes that are used only where a condition goes that way, and that are not there, those that are needed the way the
 * conditions go.
 */
export function neededOf(walk: Walk, node: GraphNode): readonly string[] {
  const open = node.partial.filter((id) => !isReady(walk, id));
  if (open.length === 0) return [];
  const paths = open.flatMap((id) =>
    (node.frame ? pathsTo(node.frame, id) : [[id]]).map((path) => ({ id, path: path.join('.') })),
  );
  const variables = node.forEach.map(({ variable }) => variable);
  const unknowns = [...paths.map(({ path }) => path), ...variables];
  const bindings = bindingsFor(walk, node);
  const needed = new Set<string>();
  for (const { program } of node.branching) {
    const budget = budgetLeft(walk.clock, walk.options.costLimit);
    const seen = { walked: 0 };
    const { unknown = [], cost } = program.evaluate(bindings, { unknowns, budget, walk: seen });
    walk.clock.spent += cost + costOfWalk(seen);
    // Which way it goes may differ from object to object.
    const differs = unknown.some((name) => variables.some((variable) => begins(name, variable)));
    for (const { id, path } of paths)
      if (differs || unknown.some((name) => begins(name, path))) needed.add(id);
  }
  return [...needed];
}

function begins(name: string, path: string): boolean {
  return name === path || name.startsWith(`${path}.`) || name.startsWith(`${path}[`);
}
