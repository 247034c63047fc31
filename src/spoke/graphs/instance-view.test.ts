import { describe, expect, it } from 'vitest';
import { compiled } from '../../engine/graph/graph.fixture.ts';
import type { ObjectQuery } from '../../engine/graph/index.ts';
import type { Client, ListOptions } from '../../kube/client.ts';
import { configMaps } from '../../kube/well-known.ts';
import { virtualRuntime } from '../../runtime/index.ts';
import { instanceMemory } from './instance-memory.ts';
import { type InstanceView, instanceView } from './instance-view.ts';
import { createInterests } from './interest.ts';
import type { KindWatches } from './kind-watch.ts';
import { createReadsByHand } from './reads-by-hand.ts';

const GRAPH = compiled(
  `schema: {spec: {name: string}}
resources:
- id: maps
  externalRef: {apiVersion: v1, kind: ConfigMap, metadata: {selector: {matchLabels: {app: web}}}}`,
);

describe('what is read by hand, where no watch tells', () => {
  it('is all that a selector asks for, however many pages there are: what is missing would count as gone', async () => {
    const { clock } = virtualRuntime(1);
    const asked: (string | undefined)[] = [];
    const client = {
      resourceFor: () => Promise.resolve(configMaps),
      list(_resource: unknown, _namespace: string, { continue: token }: ListOptions) {
        asked.push(token);
        const page = token === undefined ? 1 : Number(token);
        const metadata = { name: `m${page}`, namespace: 'n', labels: { app: page === 2 ? 'db' : 'web' } };
        return Promise.resolve({
          metadata: { resourceVersion: '1', ...(page < 4 && { continue: String(page + 1) }) },
          items: [{ metadata }],
        });
      },
    } as unknown as Client;
    const failing = { state: 'Failing', get: () => undefined, list: () => [] } as const;
    const watches = { open: () => failing } as unknown as KindWatches;
    const reads = createReadsByHand(clock, () => undefined);
    const memory = instanceMemory();
    const interests = createInterests();
    const view = (): InstanceView =>
      instanceView({
        ...{ client, actsForOthers: false, clock, watches, interests, reads, memory },
        ...{ owner: 'one', graph: GRAPH },
      });
    const query: ObjectQuery = {
      ...{ apiVersion: 'v1', kind: 'ConfigMap', namespace: '' },
      selector: { matchLabels: { app: 'web' } },
    };
    view().look([{ kind: 'Selected', node: 'maps', query }]);
    await clock.advance(10);
    const later = view();
    expect(later.look([{ kind: 'Selected', node: 'maps', query }])).toBe(true);
    expect(later.observed.selected(query)?.map(({ metadata }) => metadata.name)).toEqual(['m1', 'm3', 'm4']);
    expect(asked).toEqual([undefined, '2', '3', '4']);
  });
});
