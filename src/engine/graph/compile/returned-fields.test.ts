// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { describe, expect, it } from 'vitest';
import type { GraphResource } from '../definition.ts';
import { someKinds } from '../graph.fixture.ts';
import { compileGraph } from './compile.ts';

const made: GraphResource = {
  id: 'made',
  target: { cluster: { name: 'a' } },
  template: {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'x', annotations: { 'atoll.dev/target-cluster': 'a' } },
  },
};

function returnedWith(expression: string, more: Partial<GraphResource> = {}): readonly string[] {
  const reader: GraphResource = {
    id: 'reader',
    template: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'r' }, data: { value: expression } },
  };
  const schema = { kind: 'Test', apiVersion: 'v1' };
  const resources = [{ ...made, ...more }, reader];
  const { graph, issues } = compileGraph({ name: 'test', schema, resources }, { schemas: someKinds });
  if (!graph) throw new Error(JSON.stringify(issues));
  return graph.nodes.find(({ id }) => id === 'made')?.returns ?? [];
}

describe('what comes back of an object on another cluster', () => {
  it('is what expressions look at, by top-level field', () => {
    expect(returnedWith('${made.spec.clusterIP}')).toEqual(['spec']);
    expect(returnedWith('${has(made.spec) ? made.spec.clusterIP : "none"}')).toEqual(['spec']);
  });

  it('is nothing but the status where nothing else is looked at', () => {
    expect(returnedWith('${made.metadata.name}')).toEqual([]);
    expect(returnedWith('text')).toEqual([]);
  });

  it('is the metadata where more of it is asked for than what was sent', () => {
    expect(returnedWith('${made.metadata.uid}')).toEqual(['metadata']);
  });

  it('is all of it where it cannot be told what is looked at', () => {
    expect(returnedWith('${json.marshal(made)}')).toEqual(['*']);
  });

  it('counts what makes the node itself ready', () => {
    expect(returnedWith('text', { readyWhen: ['${made.spec.clusterIP != ""}'] })).toEqual(['spec']);
  });
});

function statusWith(expression: string, more: Partial<GraphResource> = {}): readonly string[] {
  const template = { apiVersion: 'example.com/v1', kind: 'Part', metadata: { name: 'x' } };
  const part: GraphResource = { id: 'part', hub: { scope: 'Namespaced' }, template, ...more };
  const reader: GraphResource = {
    id: 'reader',
    template: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'r' }, data: { value: expression } },
  };
  const schema = { kind: 'Test', apiVersion: 'v1' };
  const { graph, issues } = compileGraph(
    { name: 'test', schema, resources: [part, reader] },
    { schemas: someKinds },
  );
  if (!graph) throw new Error(JSON.stringify(issues));
  return graph.nodes.find(({ id }) => id === 'part')?.returnsStatus ?? [];
}

describe('what comes back of the status of an object on the hub', () => {
  it('is the fields that expressions name', () => {
    expect(statusWith('${part.status.url + part.status.db.name}')).toEqual(['db', 'url']);
    expect(statusWith('${has(part.status.url) ? part.status.url : ""}')).toEqual(['url']);
    expect(statusWith('text', { readyWhen: ['${part.status.ready}'] })).toEqual(['ready']);
  });

  it('is nothing where none is named, and all of it where that cannot be told', () => {
    expect(statusWith('${part.metadata.name}')).toEqual([]);
    expect(statusWith('${part.spec.size}')).toEqual([]);
    expect(statusWith('${json.marshal(part.status)}')).toEqual(['*']);
    expect(statusWith('${json.marshal(part)}')).toEqual(['*']);
  });
});
