import { describe, expect, it } from 'vitest';
import { bodyChunks, type Response, readBody } from '../../kube/exchange.ts';
import type { JsonObject } from '../../schema/json.ts';
import { type Fixture, startServer } from '../server.fixture.ts';
import { decodeProtobuf, encodeProtobuf, PROTOBUF } from './index.ts';

const CONFIGS = '/api/v1/namespaces/default/configmaps';
const METADATA = 'as=PartialObjectMetadata;v=v1;g=meta.k8s.io';
const config = (name: string): JsonObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data: { k: 'v' },
});

async function ask(
  api: Fixture,
  method: string,
  path: string,
  accept: string,
  body?: Uint8Array,
): Promise<Response> {
  const answer = api.admin({
    method,
    path,
    headers: { accept, 'content-type': PROTOBUF },
    ...(body ? { body } : {}),
  });
  answer.catch(() => {}); // awaited below
  await api.runtime.clock.settle();
  return answer;
}

async function objectOf(response: Response): Promise<JsonObject> {
  expect(response.headers['content-type']).toBe(PROTOBUF);
  return decodeProtobuf(await readBody(response));
}

describe('answers in protobuf', () => {
  it('[V4] are objects, lists, metadata and failures', async () => {
    const api = await startServer({ controllers: false });
    const made = await ask(api, 'POST', CONFIGS, PROTOBUF, encodeProtobuf(config('a')));
    expect(made.status).toBe(201);
    const { body } = await api.get(`${CONFIGS}/a`);
    expect(await objectOf(made)).toEqual(body);
    const listed = await objectOf(await ask(api, 'GET', CONFIGS, `${PROTOBUF},application/json`));
    expect(listed).toMatchObject({ kind: 'ConfigMapList', apiVersion: 'v1', items: [{ data: { k: 'v' } }] });
    const partial = await objectOf(await ask(api, 'GET', `${CONFIGS}/a`, `${PROTOBUF};${METADATA}`));
    expect(partial).toEqual({
      kind: 'PartialObjectMetadata',
      apiVersion: 'meta.k8s.io/v1',
      metadata: (body as JsonObject).metadata,
    });
    const lost = await ask(api, 'GET', `${CONFIGS}/b`, PROTOBUF);
    expect(lost.status).toBe(404);
    expect(await objectOf(lost)).toMatchObject({ kind: 'Status', reason: 'NotFound', code: 404 });
    const table = await ask(api, 'GET', CONFIGS, `${PROTOBUF};as=Table;v=v1;g=meta.k8s.io`);
    expect(table.status).toBe(406);
    expect((await ask(api, 'DELETE', `${CONFIGS}/a`, PROTOBUF)).status).toBe(200);
  });

  it('[V4] are frames of a watch, shared by all who watch', async () => {
    const api = await startServer({ controllers: false });
    const watchers = await Promise.all(
      [0, 1].map(() => ask(api, 'GET', `${CONFIGS}?watch=1`, `${PROTOBUF};stream=watch`)),
    );
    await api.post(CONFIGS, config('a'));
    const first: Uint8Array[] = [];
    for (const response of watchers) {
      expect(response.headers['content-type']).toBe(`${PROTOBUF};stream=watch`);
      const stream = bodyChunks(response);
      const seen: [string, unknown][] = [];
      for await (const chunk of stream) {
        first.push(chunk);
        seen.push(...events(chunk));
        if (seen.some(([type]) => type === 'ADDED')) break;
      }
      expect(seen.filter(([type]) => type === 'ADDED')).toMatchObject([
        ['ADDED', { metadata: { name: 'a' } }],
      ]);
    }
    expect(first[0]).toBe(first[1]);
    const yaml = await ask(api, 'GET', `${CONFIGS}?watch=1`, 'application/yaml');
    expect(yaml.status).toBe(406);
  });

  it('[V4] are not to be had of custom resources, but of their metadata', async () => {
    const api = await startServer({ controllers: false });
    await api.post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'ships.sea.example.com' },
      spec: {
        group: 'sea.example.com',
        scope: 'Namespaced',
        names: { plural: 'ships', kind: 'Ship' },
        versions: [
          { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } },
        ],
      },
    });
    const ships = '/apis/sea.example.com/v1/namespaces/default/ships';
    const ship = { apiVersion: 'sea.example.com/v1', kind: 'Ship', metadata: { name: 'a' } };
    expect((await api.post(ships, ship)).status).toBe(201);
    expect((await ask(api, 'GET', `${ships}/a`, PROTOBUF)).status).toBe(406);
    const json = await ask(api, 'GET', `${ships}/a`, `${PROTOBUF}, application/json`);
    expect(json.headers['content-type']).toBe('application/json');
    const metadata = METADATA.replace('Metadata;', 'MetadataList;');
    expect(await objectOf(await ask(api, 'GET', ships, `${PROTOBUF};${metadata}`))).toMatchObject({
      kind: 'PartialObjectMetadataList',
      items: [{ metadata: { name: 'a' } }],
    });
    expect(await objectOf(await ask(api, 'GET', `${ships}/b`, `${PROTOBUF},application/json`))).toMatchObject(
      {
        code: 404,
      },
    );
  });
});

/** The frames of a chunk: a length, then a WatchEvent, whose object is in an envelope. */
function events(chunk: Uint8Array): [string, JsonObject][] {
  const out: [string, JsonObject][] = [];
  const buffer = Buffer.from(chunk);
  for (let at = 0; at < buffer.byteLength; ) {
    const frame = buffer.subarray(at + 4, at + 4 + buffer.readUInt32BE(at));
    at += 4 + frame.byteLength;
    const type = frame.subarray(2, 2 + (frame[1] ?? 0)).toString();
    out.push([type, decodeProtobuf(frame.subarray(frame.indexOf('k8s\0')))]);
  }
  return out;
}
