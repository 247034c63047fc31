import { duplexPair } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { Handler, Request, Response } from '../../kube/exchange.ts';
import { createClient } from '../../kube/index.ts';
import { formatTime } from '../../runtime/index.ts';
import { type Answer, type Fixture, fixtureOf, startServer } from '../server.fixture.ts';
import { LOG, LOG_EVERY, LOG_LINE } from '../workloads/containers/index.ts';
import { EXIT_CODE, FAIL, startWorkloads } from '../workloads/index.ts';

const PODS = '/api/v1/namespaces/default/pods';

interface Rig extends Fixture {
  pod(name: string, options?: { annotations?: Record<string, string>; spec?: object }): Promise<void>;
  log(name: string, query?: string): Promise<Answer>;
}

async function rig(): Promise<Rig> {
  const fixture = await startServer({ simulatedMetrics: true, disableAdmissionPlugins: ['ServiceAccount'] });
  const { runtime, admin, post, get } = fixture;
  startWorkloads(runtime, createClient(admin), { nodes: { count: 1 }, seed: 1 });
  await runtime.clock.advance(100);
  return {
    ...fixture,
    async pod(name, { annotations = {}, spec = {} } = {}) {
      const containers = [{ name: 'main', image: 'shop/app:1', ports: [{ containerPort: 80 }] }];
      const metadata = { name, annotations };
      const created = await post(PODS, {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata,
        spec: { containers, ...spec },
      });
      expect(created.status, created.text).toBe(201);
      await runtime.clock.advance(1_000);
    },
    log: (name, query = '') => get(`${PODS}/${name}/log${query}`),
  };
}

describe('logs of simulated pods', () => {
  it('[V87] say what a container says at its start, and something now and then', async () => {
    const { pod, log, runtime } = await rig();
    await pod('p');
    expect(await log('p')).toMatchObject({
      status: 200,
      text: 'starting shop/app:1\nlistening on port 80\n',
      headers: { 'content-type': 'text/plain' },
    });
    await runtime.clock.advance(20_000);
    expect((await log('p', '?tailLines=1')).text).toBe('tick 2\n');
    expect((await log('p', '?sinceSeconds=5')).text).toBe('tick 2\n');
    expect((await log('p', '?limitBytes=8')).text).toBe('starting');
    expect((await log('p', '?tailLines=0')).text).toBe('');
    const stamped = (await log('p', '?timestamps=true&tailLines=1')).text;
    expect(stamped).toMatch(/^2026-01-01T00:00:20\.000000000Z tick 2\n$/);
    expect((await log('p')).text).toBe((await log('p')).text);
    const since = encodeURIComponent(formatTime(runtime.clock.now() - 5_000));
    expect((await log('p', `?sinceTime=${since}`)).text).toBe('tick 2\n');
  });

  it('[V87] follow a script that annotations set, until the container ends', async () => {
    const { pod, log, runtime, admin, merge } = await rig();
    const annotations = { [LOG]: 'one\ntwo', [LOG_EVERY]: '1s', [LOG_LINE]: 'again {n}' };
    await pod('p', { annotations, spec: { restartPolicy: 'Never' } });
    const path = `${PODS}/p/log?follow=true`;
    const response = await settled(runtime, admin({ method: 'GET', path, headers: {} }));
    const lines: string[] = [];
    const reading = (async () => {
      for await (const chunk of response.body as AsyncIterable<Uint8Array>)
        lines.push(Buffer.from(chunk).toString().trimEnd());
    })();
    await runtime.clock.advance(3_000);
    expect(lines.slice(0, 5)).toEqual(['one', 'two', 'again 1', 'again 2', 'again 3']);
    await merge(`${PODS}/p`, { metadata: { annotations: { [EXIT_CODE]: '3' } } });
    await runtime.clock.advance(2_000);
    await reading;
    expect(lines.at(-1)).toBe('exiting with code 3');
    expect((await log('p')).text.trimEnd().split('\n')).toEqual(lines);
  });

  it('[V87] are those of the run before when asked for, and tell what is wrong', async () => {
    const { pod, log } = await rig();
    await pod('crash', { annotations: { [FAIL]: 'crash-loop', [EXIT_CODE]: '9' } });
    await pod('pull', { annotations: { [FAIL]: 'image-pull' } });
    await pod('two', {
      spec: {
        containers: ['a', 'b'].map((name) => ({ name, image: name })),
        initContainers: [{ name: 'i', image: 'i' }],
      },
    });
    expect((await log('crash', '?previous=true')).text).toMatch(/exiting with code 9\n$/);
    expect((await log('two', '?previous=true&container=a')).body).toMatchObject({
      code: 400,
      message: 'previous terminated container "a" in pod "two" not found',
    });
    expect((await log('pull')).body.message).toBe(
      'container "main" in pod "pull" is waiting to start: trying and failing to pull image',
    );
    expect((await log('two')).body).toMatchObject({
      code: 400,
      message: 'a container name must be specified for pod two, choose one of: [i a b]',
    });
    expect((await log('two', '?container=i')).text).toMatch(/^starting i\n/);
    expect((await log('two', '?container=x')).body.message).toBe('container x is not valid for pod two');
    expect((await log('none')).body).toMatchObject({ code: 404, message: 'pods "none" not found' });
    expect((await log('crash', '?tailLines=-1')).body).toMatchObject({ code: 422, reason: 'Invalid' });
    expect((await log('crash', '?sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z')).status).toBe(422);
    expect((await log('crash', '?tailLines=x')).status).toBe(400);
  });
});

describe('metrics of simulated pods', () => {
  it('[V87] are a share of what is requested, the same each time, and add up for nodes', async () => {
    const { pod, get } = await rig();
    const resources = { requests: { cpu: '1', memory: '1Gi' } };
    await pod('p', { spec: { containers: [{ name: 'main', image: 'i', resources }] } });
    await pod('set', {
      annotations: { 'sim.atoll.dev/cpu-usage': '250m', 'sim.atoll.dev/memory-usage': '64Mi' },
    });
    const base = '/apis/metrics.k8s.io/v1beta1';
    const one = (await get(`${base}/namespaces/default/pods/p`)).body;
    expect(one).toMatchObject({ kind: 'PodMetrics', window: '15s', containers: [{ name: 'main' }] });
    const cpu = Number(one.containers[0].usage.cpu.slice(0, -1)) / 1e9;
    expect(cpu).toBeGreaterThanOrEqual(0.4);
    expect(cpu).toBeLessThanOrEqual(0.8);
    const all = (await get(`${base}/pods`)).body;
    expect(all.kind).toBe('PodMetricsList');
    expect(all.items[1].containers[0].usage).toEqual({ cpu: '250000000n', memory: '65536Ki' });
    expect(all.items[0].containers).toEqual(one.containers);
    const nodes = (await get(`${base}/nodes`)).body.items;
    expect(Number(nodes[0].usage.cpu.slice(0, -1)) / 1e9).toBeCloseTo(cpu + 0.25 + 0.06, 6);
    expect((await get(`${base}/nodes/none`)).status).toBe(404);
    expect((await get(`${base}/namespaces/default/pods?labelSelector=x=y`)).body.items).toEqual([]);
    expect((await get('/apis')).body.groups.map((each: { name: string }) => each.name)).toContain(
      'metrics.k8s.io',
    );
  });

  it('are not served unless they are asked for', async () => {
    const { get } = await startServer();
    expect((await get('/apis/metrics.k8s.io/v1beta1/nodes')).status).toBe(404);
  });
});

const WEB_SOCKET = {
  upgrade: 'websocket',
  connection: 'Upgrade',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
  'sec-websocket-protocol': 'v5.channel.k8s.io',
};

async function settled<T>(runtime: Fixture['runtime'], promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  await runtime.clock.settle();
  return promise;
}

describe('commands in simulated pods', () => {
  async function exec(
    { runtime }: Rig,
    as: Handler,
    query: string,
    headers: Record<string, string> = WEB_SOCKET,
    method: string = 'GET',
    subresource: string = 'exec',
  ): Promise<{ response: Response; message: string }> {
    const request: Request = { method, path: `${PODS}/p/${subresource}?${query}`, headers };
    const response = await settled(runtime, as(request));
    const body = response.body instanceof Uint8Array ? Buffer.from(response.body).toString() : '';
    return { response, message: body === '' ? '' : (JSON.parse(body) as { message: string }).message };
  }

  it('are told what they say by channel, and how they end', async () => {
    const one = await rig();
    await one.pod('p');
    const query =
      'container=main&command=sh&command=-c&command=echo%20out;echo%20err%20>%262;exit%203&stdout=true&stderr=true';
    const { response } = await exec(one, one.admin, query);
    expect(response).toMatchObject({
      status: 101,
      headers: { 'sec-websocket-protocol': 'v5.channel.k8s.io' },
    });
    const [client, server] = duplexPair();
    const received: Buffer[] = [];
    client.on('data', (chunk: Buffer) => received.push(chunk));
    const over = response.takeOver?.(server, new Uint8Array());
    await one.runtime.clock.settle();
    const text = Buffer.concat(received).toString('latin1');
    expect(text).toContain('\x01out\n');
    expect(text).toContain('\x02err\n');
    expect(text).toContain('\x03{"kind":"Status"');
    expect(text).toContain('"reason":"ExitCode","message":"3"');
    client.destroy();
    await one.runtime.clock.advance(10_000);
    await over;
  });

  it('are refused with the words that users know', async () => {
    const one = await rig();
    await one.pod('p', { annotations: { [FAIL]: 'image-pull' } });
    const ask = (query: string): Promise<{ message: string }> => exec(one, one.admin, query);
    expect((await ask('command=ls&stdout=true')).message).toBe('container not found ("main")');
    expect((await ask('command=ls')).message).toBe('you must specify at least 1 of stdin, stdout, stderr');
    expect((await ask('stdout=true')).message).toBe('you must specify at least 1 command for the container');
    const forward = await exec(one, one.admin, '', WEB_SOCKET, 'GET', 'portforward');
    expect(forward.message).toBe('unable to forward port because pod is not running. Current status=Pending');
  });

  it('need an upgrade, of a protocol that is known', async () => {
    const one = await rig();
    await one.pod('p');
    const query = 'command=ls&stdout=true';
    expect((await exec(one, one.admin, query, {}, 'POST')).message).toBe('Upgrade request required');
    const spdy = { upgrade: 'SPDY/3.1', connection: 'Upgrade' };
    const old = { ...spdy, 'x-stream-protocol-version': 'v1.channel.k8s.io' };
    expect((await exec(one, one.admin, query, old, 'POST')).response.status).toBe(403);
    const good = { ...spdy, 'x-stream-protocol-version': 'v5.channel.k8s.io, v4.channel.k8s.io' };
    const { response } = await exec(one, one.admin, query, good, 'POST');
    expect(response.headers).toMatchObject({
      upgrade: 'SPDY/3.1',
      'x-stream-protocol-version': 'v4.channel.k8s.io',
    });
  });

  it('are for those who may: create by SPDY, get by WebSocket', async () => {
    const one = await rig();
    await one.pod('p');
    const jane = one.server.as({ name: 'jane', groups: [] });
    const query = 'command=ls&stdout=true';
    expect((await exec(one, jane, query)).message).toContain('User "jane" cannot get resource "pods/exec"');
    const spdy = {
      upgrade: 'SPDY/3.1',
      connection: 'Upgrade',
      'x-stream-protocol-version': 'v4.channel.k8s.io',
    };
    expect((await exec(one, jane, query, spdy, 'POST')).message).toContain(
      'cannot create resource "pods/exec"',
    );
    const fixture = fixtureOf(one.runtime, one.server, one.admin);
    await fixture.post('/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles', {
      metadata: { name: 'exec' },
      rules: [{ apiGroups: [''], resources: ['pods/exec'], verbs: ['create'] }],
    });
    await fixture.post('/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings', {
      metadata: { name: 'exec' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'exec' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'jane' }],
    });
    expect((await exec(one, jane, query, spdy, 'POST')).response.status).toBe(101);
    expect((await exec(one, jane, query)).response.status).toBe(403);
  });
});
