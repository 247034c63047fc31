import { describe, expect, it } from 'vitest';
import { allowsService } from './index.ts';

const contract = (...services: { namespace: string; names: string[] }[]): { spec: object } => ({
  spec: services.length === 0 ? {} : { services },
});

describe('a service behind the hub', () => {
  const allows = (contracts: object[], namespace = 'shop', id = 'web:http'): boolean =>
    allowsService(contracts as never, namespace, id);
  it('is reached only where a contract names it, just as it is asked for', () => {
    const web = contract({ namespace: 'shop', names: ['web:http', 'https:admin:8443'] });
    expect(allows([])).toBe(false);
    expect(allows([contract()])).toBe(false);
    expect(allows([web])).toBe(true);
    expect(allows([web], 'shop', 'https:admin:8443')).toBe(true);
    for (const id of ['web', 'web:80', 'http:web:http', 'admin:8443', '*'])
      expect(allows([web], 'shop', id)).toBe(false);
    expect(allows([web], 'other')).toBe(false);
  });
  it('is reached where all contracts name it that speak of services', () => {
    const web = contract({ namespace: 'shop', names: ['web:http'] });
    const other = contract({ namespace: 'shop', names: ['other'] });
    expect(allows([web, contract()])).toBe(true);
    expect(allows([web, other])).toBe(false);
  });
  it('is not reached where a contract has an empty list, or cannot be understood', () => {
    const web = contract({ namespace: 'shop', names: ['web:http'] });
    expect(allows([web, { spec: { services: [] } }])).toBe(false);
    expect(allows([{ spec: { ...web.spec, rules: [{ expression: 'object.' }] } }])).toBe(false);
    expect(allows([web, { spec: { rules: [{ expression: 'object.' }] } }])).toBe(false);
    expect(allows([web, { spec: 'none' }])).toBe(false);
  });
});
