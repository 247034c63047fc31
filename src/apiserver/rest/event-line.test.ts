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
  it('are shared by all who watch in the same representation', () => {
    const first = view(10);
    const line = write('ADDED', first);
    const modified = write('MODIFIED', first);
    const bare = eventLines({ format: 'json', pretty: false, as: 'PartialObjectMetadata' });
    const partial = bare('ADDED', first);
    expect(Buffer.from(line).toString()).toContain('"type":"ADDED"');
    expect(Buffer.from(modified).toString()).toContain('"type":"MODIFIED"');
    expect(Buffer.from(partial).toString()).not.toContain('"data"');
    expect(write('ADDED', first)).toBe(line);
    expect(write('MODIFIED', first)).toBe(modified);
    expect(bare('ADDED', first)).toBe(partial);
    expect(write('ADDED', { ...first })).toEqual(line);
  });

  it('are joined once for those who are sent the same', () => {
    const parts = [Buffer.from('a\n'), Buffer.from('b\n')];
    expect(joined([...parts])).toBe(joined(parts));
    const others = [...parts.slice(0, 1), Buffer.from('c\n')];
    expect(Buffer.from(joined(others)).toString()).toBe('a\nc\n');
    expect(Buffer.from(joined(parts)).toString()).toBe('a\nb\n');
  });
});
