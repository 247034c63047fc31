import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { must } from './harness/command.ts';
import { type EngineProcess, startEngineProcess } from './harness/engine-process.ts';
import {
  describeReal,
  REAL_CONTEXT,
  type RealApiServer,
  type RealApiServers,
  startRealApiServers,
} from './harness/real-api-server.ts';
import { until } from './harness/until.ts';

let servers: RealApiServers;
let hub: RealApiServer;
let spoke: RealApiServer;
let hubEngine: EngineProcess;
let spokeEngine: EngineProcess;
let hubKubeconfig = '';
const main = join(inject('packageRoot'), 'dist', 'cli', 'main.js');

describeReal('the engine on real API servers', () => {
  beforeAll(async () => {
    servers = await startRealApiServers();
    [hub, spoke] = await Promise.all([servers.start('hub'), servers.start('spoke')]);
  }, 90_000);
  afterAll(async () => {
    await Promise.all([hubEngine?.stop(), spokeEngine?.stop()]);
    await servers?.stop();
  });
  const atHub = async (...args: string[]) =>
    must(process.execPath, [main, ...args, '--kubeconfig', hub.kubeconfig, '--context', REAL_CONTEXT], { timeoutMs: 90_000 });

  it('joins', async () => {
    hubKubeconfig = hub.kubeconfig;
    const data = join(hub.directory, 'engine');
    hubEngine = await startEngineProcess('hub', hubKubeconfig, ['--data', data, '--link-port', '0', '--access-port', '0']);
    const file = join(spoke.directory, 'join.json');
    writeFileSync(file, await atHub('join', 'edge', '-o', 'file', '--labels', 'env=prod'));
    spokeEngine = await startEngineProcess('spoke', spoke.kubeconfig, ['--join', file]);
    await hub.kubectl('wait', 'spokecluster/edge', '--for=condition=Connected', '--timeout=30s');
    console.log(hubEngine.log(), spokeEngine.log());
    await hub.kubectl('create', 'configmap', 'note', '--from-literal=a=b');
    await hub.apply('apiVersion: atoll.dev/v1alpha1\nkind: Propagation\nmetadata: {name: note, namespace: default}\nspec: {author: {username: admin}, resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: note}], placement: {clusterSelector: {}}}\n');
    await hub.kubectl('wait', 'propagation/note', '--for=condition=Ready', '--timeout=20s').finally(async () => console.log(await hub.kubectl('get', 'propagation', 'note', '-o', 'yaml'), hubEngine.log(), spokeEngine.log(), JSON.stringify(spoke.writes(), null, 0), JSON.stringify(hub.writes().filter(w => w.code >= 400))));
  }, 120_000);
});
