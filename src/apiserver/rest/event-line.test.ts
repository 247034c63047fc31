import { describe, expect, it } from 'vitest';
import { eventLines, joined } from './event-line.ts';
import type { View } from './view.ts';

const write = eventLines({ format: 'json', pretty: false });

function view(size: number): View {
  const object = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'a' },
    data: { a: 'x'.repeat(size) },
  };
  return { object, bytes: Buffer.from(JSON.stringify(object)) };
}

describe('lines of events', () => {
  it('are shared by all who watch, as long as few bytes came since', () => {
    const first = view(10);
    const line = write('ADDED', first);
    expect(write('ADDED', first)).toBe(line);
    const large = view(1024 * 1024);
    for (let i = 0; i < 40; i++) write('ADDED', { ...large });
    expect(write('ADDED', first)).not.toBe(line);
    expect(write('ADDED', first)).toEqual(line);
  });

  it('are joined once for those who are sent the same, unless they are very long', () => {
    const parts = [Buffer.from('a\n'), Buffer.from('b\n')];
    expect(joined([...parts])).toBe(joined(parts));
    const long = [Buffer.alloc(20 * 1024 * 1024), Buffer.alloc(20 * 1024 * 1024)];
    expect(joined([...long]) === joined(long)).toBe(false);
  });
});
