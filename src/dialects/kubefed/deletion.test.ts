import { describe, expect, it } from 'vitest';
import { DELETE_OPTION_ANNOTATION, deletionOptionsOf } from './deletion.ts';

const read = (text: string): ReturnType<typeof deletionOptionsOf> =>
  deletionOptionsOf({ [DELETE_OPTION_ANNOTATION]: text });

describe('how objects on clusters are deleted', () => {
  it.each([
    ['', undefined],
    ['{}', undefined],
    ['null', undefined],
    ['{"gracePeriodSeconds":null,"propagationPolicy":null,"preconditions":null}', undefined],
    ['{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Background"}', 'Background'],
    ['{"propagationPolicy":"Orphan"}', 'Orphan'],
  ])('%j says %s', (text, propagationPolicy) => {
    expect(read(text)).toEqual(propagationPolicy === undefined ? {} : { options: { propagationPolicy } });
  });

  it.each([
    ['{bad', 'not JSON'],
    ['[]', 'not an object'],
    ['{"propagationPolicy":"orphan"}', 'must be one of'],
    ['{"gracePeriodSeconds":-1}', 'not negative'],
    ['{"preconditions":{"uid":"x"}}', 'preconditions is not supported'],
    ['{"dryRun":["All"]}', 'dryRun is not supported'],
    ['{"orphanDependents":true}', 'orphanDependents is not supported'],
  ])('%j is refused', (text, why) => {
    expect(read(text).options).toBeUndefined();
    expect(read(text).problem).toContain(why);
  });
});
