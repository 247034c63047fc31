import { expect, it } from 'vitest';
import type { SpokeCluster } from '../../dialects/kubevela/types.ts';
import { recordLetGo } from '../../hub/join/letting-go.ts';
import { keepOut } from '../hub-replicas.ts';
import {
  client,
  dial,
  holds,
  hubWith,
  isUp,
  listener,
  refused,
  runtime,
  SPOKE_CLUSTERS,
  tokenFor,
  wake,
} from './joining.fixture.ts';

/** What a replica does about what it hears, with what came of each look and who was cut by name. */
function judging(review: (spoke: string) => Promise<boolean> = listener.review): {
  judge: ReturnType<typeof keepOut>;
  looks: (boolean | 'unknown')[];
  cut: string[];
} {
  const looks: (boolean | 'unknown')[] = [];
  const cut: string[] = [];
  const judge = keepOut(runtime, client, {
    links: listener.links,
    disconnect: (spoke, why) => {
      cut.push(`${spoke}: ${why}`);
      wake();
    },
    review: (spoke) =>
      review(spoke)
        .then(
          (stays) => {
            looks.push(stays);
            return stays;
          },
          (error: unknown) => {
            looks.push('unknown');
            throw error;
          },
        )
        .finally(wake),
  });
  return { judge, looks, cut };
}

async function joined(): Promise<{
  spoke: ReturnType<typeof dial>;
  cluster: SpokeCluster;
  before: SpokeCluster;
}> {
  const spoke = dial('edge', await hubWith({ edge: await tokenFor('edge') }));
  await isUp('edge');
  const cluster = await client.get<SpokeCluster>(SPOKE_CLUSTERS, 'default', 'edge');
  return { spoke, cluster, before: { ...cluster, metadata: { ...cluster.metadata, uid: 'that of before' } } };
}

it('a replica that hears late that a name was let go leaves alone who has joined under it since', async () => {
  const { cluster, before } = await joined();
  const link = await isUp('edge');
  const changes: unknown[] = [];
  link.onChange(() => changes.push(link.state));
  const { judge, looks, cut } = judging();
  judge('edge', before);
  expect(looks).toEqual([]);
  judge('edge', { ...before, spec: { ...before.spec, hubAcceptsClient: false } });
  judge('edge', undefined);
  judge('edge', before);
  judge('edge', cluster);
  await holds(() => (looks.length === 3 ? true : undefined));
  expect(looks).toEqual([true, true, true]);
  expect([cut, changes]).toEqual([[], []]);
  expect((await link.handler({ method: 'GET', path: '/livez', headers: {} })).status).toBe(200);
});

it('a replica cuts who was let in as what had the name before', async () => {
  const { spoke, cluster, before } = await joined();
  await recordLetGo(runtime, client, 'edge');
  const { judge, looks, cut } = judging();
  judge('edge', before);
  judge('edge', cluster);
  await spoke.until(refused('is void'));
  // The name stays what it is: another may come.
  expect([looks, cut]).toEqual([[false], []]);
});

it('a replica cuts whom it cannot ask about', async () => {
  const { cluster, before } = await joined();
  const { judge, looks, cut } = judging(() => Promise.reject(new Error('the API server is away')));
  judge('edge', before);
  judge('edge', cluster);
  await holds(() => (cut.length > 0 ? true : undefined));
  expect([looks, cut]).toEqual([['unknown'], ['edge: SpokeCluster edge was made anew']]);
});
