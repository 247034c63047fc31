import { describe, expect, it } from 'vitest';
import { type NamedResource, resourceNamed } from './kind-name.ts';
import { nearest } from './near-names.ts';

function resource(group: string, name: string, kind: string, shortNames: string[] = []): NamedResource {
  const singular = kind.toLowerCase();
  return { group, version: 'v1', resource: name, kind, namespaced: true, singular, shortNames };
}

const RESOURCES = [
  resource('', 'services', 'Service', ['svc']),
  resource('', 'events', 'Event', ['ev']),
  resource('apps', 'deployments', 'Deployment', ['deploy']),
  resource('events.k8s.io', 'events', 'Event', ['ev']),
  resource('serving.example.com', 'services', 'Service', ['ksvc']),
];

describe('resourceNamed', () => {
  it('takes what kubectl takes', () => {
    for (const word of [
      'deploy',
      'deployment',
      'deployments',
      'Deployment',
      'deployments.apps',
      'deploy.apps',
      'deployments.v1.apps',
    ])
      expect(resourceNamed(RESOURCES, word).resource, word).toBe('deployments');
    expect(resourceNamed(RESOURCES, 'svc').group).toBe('');
    expect(resourceNamed(RESOURCES, 'services').group).toBe('');
    expect(resourceNamed(RESOURCES, 'services.serving.example.com').group).toBe('serving.example.com');
    expect(resourceNamed(RESOURCES, 'events.events.k8s.io').group).toBe('events.k8s.io');
  });
  it('proposes similar names', () => {
    expect(() => resourceNamed(RESOURCES, 'deplyoment')).toThrow(
      /no kind named "deplyoment"; similar: deployment/,
    );
    expect(() => resourceNamed(RESOURCES, 'zzz')).toThrow(/kubectl api-resources/);
    expect(() => resourceNamed(RESOURCES, 'deployments.batch')).toThrow(/no kind named "deployments.batch"/);
  });
});

describe('nearest', () => {
  it('puts the nearest first and leaves the unlike out', () => {
    expect(nearest('crat', ['cart', 'catalog', 'checkout'])).toEqual([]);
    expect(nearest('cartt', ['cart', 'catalog', 'carts'])).toEqual(['cart', 'carts']);
    expect(nearest('cart', ['cart-db', 'web'])).toEqual(['cart-db']);
    expect(nearest('web', [])).toEqual([]);
  });
});
