import { describe, expect, it } from 'vitest';
import { StatusError } from '../../kube/status-error.ts';
import type { JsonObject } from '../../schema/json.ts';
import { parseDeleteOptions } from './delete-options.ts';

const NO_QUERY = new URLSearchParams();

function problemOf(body: JsonObject | undefined, query = ''): [number, string] {
  try {
    parseDeleteOptions(body, new URLSearchParams(query));
  } catch (error) {
    if (error instanceof StatusError) return [error.code, error.message];
    throw error;
  }
  return [200, ''];
}

describe('delete options', () => {
  it('are those of the body, or else those of the query', () => {
    const query = new URLSearchParams('dryRun=All&gracePeriodSeconds=-5&orphanDependents=no');
    expect(parseDeleteOptions(undefined, query)).toMatchObject({
      dryRun: true,
      gracePeriodSeconds: 1,
      propagation: 'Orphan',
    });
    expect(parseDeleteOptions({ gracePeriodSeconds: 3 }, query)).toMatchObject({
      dryRun: false,
      gracePeriodSeconds: 3,
      propagation: undefined,
    });
  });

  it('may be of any group and version', () => {
    const kind = 'DeleteOptions';
    for (const apiVersion of ['v1', 'apps/v1', 'nope/v9', ''])
      expect(parseDeleteOptions({ apiVersion, kind }, NO_QUERY).dryRun).toBe(false);
    expect(problemOf({ apiVersion: 'a/b/c', kind })).toEqual([500, 'unexpected GroupVersion string: a/b/c']);
    expect(problemOf({ apiVersion: 'v1', kind: 'Status' })[1]).toBe(
      'converting (v1.Status) to (v1.DeleteOptions): unknown conversion',
    );
    expect(problemOf({ apiVersion: 'v1', kind: 'Pod' })[1]).toContain('no kind "Pod" is registered');
  });

  it('are refused with everything that is wrong', () => {
    const [code, message] = problemOf({
      propagationPolicy: '',
      orphanDependents: true,
      dryRun: ['All', 'x'],
    });
    expect(code).toBe(422);
    expect(message).toContain('orphanDependents and deletionPropagation cannot be both set');
    expect(message).toContain('propagationPolicy: Unsupported value: ""');
    expect(message).toContain('dryRun: Unsupported value: []string{"All", "x"}: supported values: "All"');
  });

  it.each([
    [
      { gracePeriodSeconds: '5' },
      'string into Go struct field DeleteOptions.gracePeriodSeconds of type int64',
    ],
    [
      { gracePeriodSeconds: 1.5 },
      'number 1.5 into Go struct field DeleteOptions.gracePeriodSeconds of type int64',
    ],
    [{ dryRun: 'All' }, 'string into Go struct field DeleteOptions.dryRun of type []string'],
    [{ dryRun: [1] }, 'number into Go struct field DeleteOptions.dryRun of type string'],
    [
      { preconditions: { uid: 1 } },
      'number into Go struct field Preconditions.preconditions.uid of type types.UID',
    ],
  ])('are not guessed: %j', (body, text) => {
    expect(problemOf(body as JsonObject)).toEqual([500, `json: cannot unmarshal ${text}`]);
  });

  it.each([
    ['gracePeriodSeconds=', 'parsing "": invalid syntax'],
    ['gracePeriodSeconds=1.5', 'parsing "1.5": invalid syntax'],
    ['gracePeriodSeconds=99999999999999999999', 'parsing "99999999999999999999": value out of range'],
  ])('of a query have integers: %s', (query, text) => {
    expect(problemOf(undefined, query)).toEqual([400, `strconv.ParseInt: ${text}`]);
  });
});
