import { type CompiledGraph, type GraphNode, isExternal } from '../../engine/graph/index.ts';
import { type GraphOptions, rightGraphs } from './load.ts';

export interface DiagramOptions extends GraphOptions {
  readonly format: 'mermaid' | 'svg';
}

/** Prints graphs as drawings. */
export function drawGraphs(options: DiagramOptions): number {
  const files = rightGraphs(options, true);
  const graphs = [...files.graphs, ...files.objects.flatMap(({ graph }) => graph ?? [])];
  if (options.format === 'svg' && graphs.length > 1)
    throw new Error(`there are ${graphs.length} graphs; an SVG shows one`);
  process.stdout.write(
    graphs.map((graph) => (options.format === 'svg' ? svg(graph) : mermaid(graph))).join('\n'),
  );
  return 0;
}

function label(node: GraphNode): string {
  const each = node.forEach.map(({ variable }) => variable).join(' × ');
  if (node.kind === 'Value') return 'value';
  const plain = node.dynamic ? 'kind by expression' : node.of.kind;
  if (node.patches !== undefined) return `patch of ${plain}${node.patches === 'status' ? ' status' : ''}`;
  const kind = node.kind === 'ExternalCollection' ? `${plain} by selector` : plain;
  return each === '' ? kind : `${kind} for each ${each}`;
}

/** A flowchart of Mermaid: nodes that are left out under a condition are dashed, external ones are rounded. */
export function mermaid(graph: CompiledGraph): string {
  // Words of the notation, such as `end`, may be ids of nodes.
  const name = (id: string): string => `n_${id.replaceAll('.', '__')}`;
  const lines = ['flowchart TD'];
  // A Graph is its own instance.
  const root = graph.gating === 'Scope' ? undefined : 'schema';
  if (root !== undefined) lines.push(`  ${root}[["${graph.instance.kind}"]]`);
  const box = (node: GraphNode, indent: string): void => {
    const text = `"${node.local}<br/><i>${escaped(label(node))}</i>"`;
    lines.push(`${indent}${name(node.id)}${isExternal(node.kind) ? `(${text})` : `[${text}]`}`);
  };
  const within = (of: string, indent: string): void => {
    const prefix = of === '' ? '' : `${of}.`;
    const here = graph.nodes.filter(({ id }) => id.startsWith(prefix));
    const inner = new Set<string>();
    for (const node of here) {
      const rest = node.id.slice(prefix.length);
      const dot = rest.indexOf('.');
      if (dot < 0) box(node, indent);
      else inner.add(rest.slice(0, dot));
    }
    for (const id of inner) {
      lines.push(`${indent}subgraph g_${(prefix + id).replaceAll('.', '__')}["${id}"]`);
      within(prefix + id, `${indent}  `);
      lines.push(`${indent}end`);
    }
  };
  within('', '  ');
  for (const node of graph.nodes) {
    if (root !== undefined && node.dependencies.length === 0) lines.push(`  ${root} --> ${name(node.id)}`);
    for (const other of node.dependencies) lines.push(`  ${name(other)} --> ${name(node.id)}`);
  }
  const optional = graph.nodes.filter(({ includeWhen }) => includeWhen.length > 0).map(({ id }) => name(id));
  if (optional.length > 0) {
    lines.push('  classDef optional stroke-dasharray: 5 5', `  class ${optional.join(',')} optional`);
  }
  return `${lines.join('\n')}\n`;
}

const BOX = { width: 200, height: 48, gapX: 32, gapY: 56, margin: 24 } as const;

interface Placed {
  readonly node: GraphNode;
  readonly x: number;
  readonly y: number;
}

/** Rows are waves; within a row nodes stand where those they depend on stand. */
function placed(graph: CompiledGraph): Map<string, Placed> {
  const places = new Map<string, Placed>();
  const column = new Map<string, number>();
  const last = Math.max(0, ...graph.nodes.map(({ wave }) => wave));
  for (let wave = 1; wave <= last; wave++) {
    const weight = (node: GraphNode): number => {
      const columns = node.dependencies.map((id) => column.get(id) ?? 0);
      return columns.length === 0
        ? node.position
        : columns.reduce((sum, each) => sum + each, 0) / columns.length;
    };
    const row = graph.nodes
      .filter((node) => node.wave === wave)
      .toSorted((a, b) => weight(a) - weight(b) || a.position - b.position);
    for (const [index, node] of row.entries()) {
      column.set(node.id, index);
      const x = BOX.margin + index * (BOX.width + BOX.gapX);
      const y = BOX.margin + (wave - 1) * (BOX.height + BOX.gapY);
      places.set(node.id, { node, x, y });
    }
  }
  return places;
}

export function svg(graph: CompiledGraph): string {
  const places = placed(graph);
  const all = [...places.values()];
  const width = Math.max(BOX.width, ...all.map(({ x }) => x + BOX.width)) + BOX.margin;
  const height = Math.max(BOX.height, ...all.map(({ y }) => y + BOX.height)) + BOX.margin;
  const lines = all.flatMap(({ node, x, y }) =>
    node.dependencies.flatMap((id) => {
      const from = places.get(id);
      if (!from) return [];
      const [x1, y1] = [from.x + BOX.width / 2, from.y + BOX.height];
      const x2 = x + BOX.width / 2;
      const middle = (y1 + y) / 2;
      return [
        `<path class="edge" d="M${x1} ${y1}C${x1} ${middle} ${x2} ${middle} ${x2} ${y}" marker-end="url(#end)"/>`,
      ];
    }),
  );
  const boxes = all.map(({ node, x, y }) => {
    const classes = ['node', ...(node.includeWhen.length > 0 ? ['optional'] : [])].join(' ');
    const radius = isExternal(node.kind) ? BOX.height / 2 : 4;
    const center = x + BOX.width / 2;
    return [
      `<g class="${classes}"><title>${escaped(`${node.apiVersion} ${node.of.kind}`)}</title>`,
      `<rect x="${x}" y="${y}" width="${BOX.width}" height="${BOX.height}" rx="${radius}"/>`,
      `<text x="${center}" y="${y + 20}">${escaped(shortened(node.id))}</text>`,
      `<text class="kind" x="${center}" y="${y + 37}">${escaped(shortened(label(node)))}</text></g>`,
    ].join('');
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(graph.instance.kind)}">
<style>text{font:13px sans-serif;text-anchor:middle;fill:#1f2937}.kind{font-size:11px;fill:#6b7280}rect{fill:#f9fafb;stroke:#6b7280}.optional rect{stroke-dasharray:5 4}.edge{fill:none;stroke:#9ca3af}</style>
<defs><marker id="end" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8z" fill="#9ca3af"/></marker></defs>
${[...lines, ...boxes].join('\n')}
</svg>
`;
}

function shortened(text: string): string {
  return text.length > 28 ? `${text.slice(0, 27)}…` : text;
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (char) => ENTITIES[char] ?? char);
}
