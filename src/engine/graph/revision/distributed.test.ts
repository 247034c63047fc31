import { describe, expect, it } from 'vitest';
import { decideDistributed } from './distributed.ts';
import type { RevisionRecord } from './revision.ts';

const revision = (number: number, hash: string, more: Partial<RevisionRecord> = {}): RevisionRecord => ({
  number,
  hash,
  state: 'Active',
  ...more,
});

describe('a revision that another cluster numbers', () => {
  it('is made under its number, also a lower one than that of the newest', () => {
    const revisions = [revision(4, 'd')];
    expect(decideDistributed({ hash: 'b', revisions, warm: true }, 2)).toEqual({ kind: 'Issue', number: 2 });
    expect(decideDistributed({ hash: 'e', revisions, warm: true }, 5)).toEqual({ kind: 'Issue', number: 5 });
  });

  it('is served when it is there', () => {
    const revisions = [revision(1, 'a'), revision(2, 'b')];
    expect(decideDistributed({ hash: 'a', revisions, warm: true }, 1)).toEqual({ kind: 'Serve', number: 1 });
  });

  it('is made anew where the number means something else', () => {
    const revisions = [revision(1, 'a')];
    expect(decideDistributed({ hash: 'z', revisions, warm: true }, 1)).toEqual({
      kind: 'Replace',
      number: 1,
    });
  });

  it('waits until what is stored is read, and until one that goes is gone', () => {
    const going = [revision(1, 'a', { terminating: true })];
    expect(decideDistributed({ hash: 'a', revisions: [], warm: false }, 1).kind).toBe('Wait');
    expect(decideDistributed({ hash: 'z', revisions: going, warm: true }, 1).kind).toBe('Wait');
  });

  it('says why it does not compile', () => {
    const failed = [revision(1, 'a', { state: 'Failed', message: 'no kind' })];
    expect(decideDistributed({ hash: 'a', revisions: failed, warm: true }, 1)).toMatchObject({
      kind: 'Failed',
      message: 'no kind',
    });
  });
});
