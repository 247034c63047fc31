import { describe, expect, it } from 'vitest';
import type { Client } from '../../kube/client.ts';
import type { ClusterEndpoint } from '../../kube/cluster-endpoint.ts';
import type { Request, Response } from '../../kube/exchange.ts';
import type { KubeObject } from '../../kube/object.ts';
import { virtualRuntime } from '../../runtime/index.ts';
import { ANALYSIS_SECRET_TYPE, createMeasure, type Measure, numberOf } from './measuring.ts';

const answer = (resultType: string, result: unknown): Uint8Array =>
  Buffer.from(JSON.stringify({ status: 'success', data: { resultType, result } }));
const vector = (...values: string[]): Uint8Array =>
  answer(
    'vector',
    values.map((value) => ({ metric: {}, value: [1, value] })),
  );

interface Rig {
  readonly measure: Measure;
  readonly asked: Request[];
  readonly opened: ClusterEndpoint[];
}

function rig(spec: object, respond: () => Promise<Response>, more: Record<string, object> = {}): Rig {
  const asked: Request[] = [];
  const opened: ClusterEndpoint[] = [];
  const objects: Record<string, object> = {
    'shop/metrics': { spec: { type: 'Prometheus', ...spec } },
    ...more,
  };
  const client = {
    get: async (_resource: unknown, namespace: string, name: string) => {
      const found = objects[`${namespace}/${name}`];
      if (!found) throw new Error(`${name} not found`);
      return found as KubeObject;
    },
  } as unknown as Client;
  const measure = createMeasure({
    client,
    clock: virtualRuntime(1).clock,
    resolve: async (name) => (name === 'inside.example' ? ['169.254.169.254'] : ['10.1.2.3']),
    rules: {},
    open: (endpoint) => {
      opened.push(endpoint);
      const handler = async (request: Request): Promise<Response> => {
        asked.push(request);
        return respond();
      };
      return Object.assign(handler, { close: async () => undefined });
    },
  });
  return { measure, asked, opened };
}

const ok = async (): Promise<Response> => ({ status: 200, headers: {}, body: vector('0.25') });

describe('measuring a metric', () => {
  it('asks the provider for one number', async () => {
    const { measure, asked, opened } = rig({ url: 'https://prometheus.example/base' }, ok);
    expect(await measure('shop', 'metrics', 'rate(errors[5m]) or vector(0)')).toBe(0.25);
    expect(asked[0]?.path).toBe('/api/v1/query?query=rate(errors%5B5m%5D)%20or%20vector(0)');
    expect(opened).toEqual([{ url: 'https://prometheus.example/base' }]);
  });

  it.each([
    ['http://prometheus.example', 'must be https'],
    ['https://127.0.0.1:9090', 'loopback'],
    ['https://169.254.169.254', 'link-local'],
    ['https://prometheus.monitoring.svc', 'inside a cluster'],
    ['https://inside.example', 'leads to a denied address'],
    ['https://user:secret@prometheus.example', 'must not hold a user or password'],
  ])('connects to nothing at %s', async (url, why) => {
    const { measure, opened } = rig({ url }, ok);
    await expect(measure('shop', 'metrics', 'x')).rejects.toThrow(why);
    expect(opened).toEqual([]);
  });

  it('sends a token only of a Secret that is meant for it', async () => {
    const data = { token: Buffer.from('open sesame\n').toString('base64') };
    const spec = { url: 'https://prometheus.example', tokenSecretRef: { name: 'key' } };
    const meant = rig(spec, ok, { 'shop/key': { type: ANALYSIS_SECRET_TYPE, data } });
    await meant.measure('shop', 'metrics', 'x');
    expect(meant.opened[0]?.token).toBe('open sesame');
    const other = rig(spec, ok, { 'shop/key': { type: 'Opaque', data } });
    await expect(other.measure('shop', 'metrics', 'x')).rejects.toThrow('is not of the type');
    expect(other.opened).toEqual([]);
  });

  it('quotes nothing of an answer that is none', async () => {
    const denied = rig({ url: 'https://prometheus.example' }, async () => ({
      status: 403,
      headers: {},
      body: Buffer.from('secret things'),
    }));
    await expect(denied.measure('shop', 'metrics', 'x')).rejects.toThrow(
      /^AnalysisProvider metrics: it answered 403$/,
    );
  });

  it('reads scalars and vectors of one, and says what to do about others', () => {
    expect(numberOf(answer('scalar', [1, '3']))).toBe(3);
    expect(numberOf(vector('+Inf'))).toBe(Infinity);
    expect(() => numberOf(vector())).toThrow('the query gives nothing');
    expect(() => numberOf(vector('1', '2'))).toThrow('several values');
    expect(() => numberOf(vector('NaN'))).toThrow('NaN');
    expect(() => numberOf(answer('matrix', []))).toThrow('neither a scalar nor a vector');
    expect(() => numberOf(Buffer.from('<html>'))).toThrow('no JSON');
    expect(() => numberOf(Buffer.from('{}'))).toThrow('no data');
  });
});
