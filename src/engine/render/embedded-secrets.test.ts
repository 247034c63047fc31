import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import { applyPatches } from './render.ts';

const secret = (text: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'db', namespace: 'shop' },
  data: { config: Buffer.from(text).toString('base64') },
});

describe('a document that cannot be changed', () => {
  it.each([
    ['json', 'hunter2'],
    ['json', '{"password": hunter2}'],
    ['json', '{"password": "hunter2"'],
    ['yaml', 'password: *hunter2'],
    ['yaml', 'password: !hunter2\n  - "x'],
    ['yaml', 'a: 1\n---\nb: hunter2'],
    ['yaml', '"hunter2": "a\nhunter2: [}'],
    ['yaml', '%hunter2\n---\na: {'],
    ['yaml', '&hunter2 &hunter2x a: b'],
  ] as const)('is told of without what it holds: %s %s', (format, text) => {
    const target = { apiVersion: 'v1', kind: 'Secret', namespace: 'shop', name: 'db' };
    const operations = [{ op: 'add', path: '/x', value: 1 }] as const;
    const edit = [{ op: 'edit' as const, path: '/data/config', format, operations }];
    const result = applyPatches(secret(text), [{ target, operations: edit, override: 0 }]);
    expect(JSON.stringify(result)).toMatch(format === 'json' ? /it is no JSON/ : /problem/);
    expect(JSON.stringify(result)).not.toContain('hunter2');
  });
});
