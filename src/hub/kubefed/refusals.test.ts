import { beforeEach, describe, expect, it } from 'vitest';
import { type VirtualRuntime, virtualRuntime } from '../../runtime/runtime.ts';
import { createRefusals, type Refusals } from './refusals.ts';

let runtime: VirtualRuntime;
let refusals: Refusals;
let changes: number;

const note = (method: string, path: string, status: number): void =>
  refusals.note({ method, path, headers: {} }, status);

beforeEach(() => {
  runtime = virtualRuntime(1);
  changes = 0;
  refusals = createRefusals(runtime.clock, () => {
    changes += 1;
  });
});

describe('what is refused', () => {
  it('has verb and resource as a Role names them', () => {
    note('GET', '/api/v1/namespaces/team/secrets/token', 403);
    note('GET', '/apis/types.kubefed.io/v1beta1/namespaces/team/federatedjobs?limit=500', 403);
    note('GET', '/apis/types.kubefed.io/v1beta1/namespaces/team/federatedjobs?watch=true', 403);
    note(
      'PATCH',
      '/apis/types.kubefed.io/v1beta1/namespaces/team/federatedjobs/x/status?fieldManager=y',
      403,
    );
    note('POST', '/api/v1/namespaces/team/events', 403);
    note('GET', '/apis/apps/v1', 403);
    note('GET', '/version', 403);
    expect(refusals.list()).toEqual([
      'create events',
      'get secrets',
      'list federatedjobs.types.kubefed.io',
      'patch federatedjobs.types.kubefed.io/status',
      'watch federatedjobs.types.kubefed.io',
    ]);
    expect(refusals.list('secrets')).toEqual(['get secrets']);
  });

  it('is told once, until it is allowed or nobody asks for it any more', async () => {
    const path = '/api/v1/namespaces/team/secrets/token';
    note('GET', path, 403);
    note('GET', path, 403);
    expect(changes).toBe(1);
    note('GET', path, 500);
    expect(refusals.list()).toHaveLength(1);
    note('GET', path, 404);
    expect(refusals.list()).toEqual([]);
    expect(changes).toBe(2);
    note('GET', path, 403);
    await runtime.clock.advance(1_300_000);
    expect(refusals.list()).toEqual([]);
    expect(changes).toBe(4);
    refusals.stop();
  });
});
