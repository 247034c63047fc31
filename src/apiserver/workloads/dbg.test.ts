import { it } from 'vitest';
import * as known from '../../kube/well-known.ts';
import { deployment, startSimulation } from './workloads.fixture.ts';
it('dbg', async () => {
  const sim = await startSimulation();
  await sim.create(deployment('web', 3));
  for (let i = 0; i < 12; i++) {
    await sim.runtime.clock.advance(200);
    console.log(sim.runtime.clock.monotonic(), JSON.stringify((await sim.now(sim.client.list(known.deployments, 'shop'))).items.map(d=>d.status)),
    (await sim.now(sim.client.list(known.replicaSets, 'shop'))).items.map(d=>JSON.stringify(d.status)), (await sim.pods()).map(p=>(p.spec as any).nodeName+JSON.stringify(p.status).slice(0,200)), (await sim.now(sim.client.list(known.nodes, ''))).items.length);
  }
});
