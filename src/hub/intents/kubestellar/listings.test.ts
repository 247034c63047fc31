import { describe, expect, it } from 'vitest';
import type { Binding, Modulation } from '../../../dialects/kubestellar/index.ts';
import { createListings } from './listings.ts';

const listed = { group: '', version: 'v1', resource: 'configmaps', namespace: 'shop', name: 'a' };

function binding(modulation: Modulation, ...clusters: string[]): Binding {
  return {
    apiVersion: 'control.kubestellar.io/v1alpha1',
    kind: 'Binding',
    metadata: { name: 'any' },
    spec: {
      workload: { namespaceScope: [{ ...listed, ...modulation }] },
      destinations: clusters.map((clusterId) => ({ clusterId })),
    },
  };
}

describe('what several Bindings list', () => {
  it('[S37] is put together: flags are ORed, collectors united, clusters counted once where a status is asked for', () => {
    const listings = createListings();
    listings.put('p', binding({ createOnly: true, statusCollectors: ['b'] }, 'x', 'y'));
    listings.put('q', binding({ wantSingletonReportedState: true, statusCollectors: ['a', 'b'] }, 'y'));
    expect(listings.combined(listed)).toEqual({
      modulation: { createOnly: true, wantSingletonReportedState: true, statusCollectors: ['a', 'b'] },
      reporting: 1,
    });
    listings.put('p', binding({ wantMultiWECReportedState: true }, 'x', 'y'));
    expect(listings.combined(listed)).toMatchObject({ reporting: 2 });
    listings.put('p', undefined);
    listings.put('q', undefined);
    expect(listings.combined(listed)).toEqual({ modulation: {}, reporting: 0 });
  });

  it('concerns the others only where it matters to them', () => {
    const listings = createListings();
    const concerned = (name: string, now: Binding | undefined): string[] =>
      [...listings.put(name, now)].sort();
    expect(concerned('p', binding({}, 'x'))).toEqual([]);
    expect(concerned('q', binding({}, 'y'))).toEqual([]);
    expect(concerned('q', binding({}, 'y', 'z'))).toEqual([]);
    expect(concerned('q', binding({ createOnly: true }, 'y'))).toEqual(['p']);
    expect(concerned('q', binding({ createOnly: true }, 'z'))).toEqual([]);
    expect(concerned('q', binding({ wantSingletonReportedState: true }, 'z'))).toEqual(['p']);
    expect(concerned('q', binding({ wantSingletonReportedState: true }, 'x', 'z'))).toEqual(['p']);
    expect(concerned('q', undefined)).toEqual(['p']);
    expect(concerned('q', undefined)).toEqual([]);
  });
});
