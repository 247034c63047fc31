import { expect, it } from 'vitest';
import { joinedHub } from './expect-spoke.ts';
import {
  type JoinFile,
  joinWord,
  mergeJoins,
  parseJoin,
  readJoin,
  spokeNamed,
  tokenFor,
} from './join-file.ts';

const notice = {
  name: 'hub',
  addresses: ['hub.example:7443'],
  names: ['hub', 'localhost', '127.0.0.1', 'hub.example'],
  ca: '-----BEGIN CERTIFICATE-----',
  trust: { lineage: '0a1b', publicKey: 'key' },
};
const file: JoinFile = {
  version: 2,
  hubs: [joinedHub(notice, { tokens: { edge: 'T' }, proxy: { url: 'http://proxy:3128' } })],
};

it('is the same as a file and as a word', () => {
  expect(parseJoin(JSON.stringify(file))).toEqual(file);
  expect(parseJoin(`${joinWord(file)}\n`)).toEqual(file);
  expect(readJoin(joinWord(file))).toEqual(file);
  expect(joinWord(file)).toMatch(/^[A-Za-z0-9_-]+$/);
});

it.each([
  ['what was cut off', joinWord(file).slice(0, -20), 'cut off or damaged'],
  ['no join data', '{"version": 1}', 'another version'],
  ['a hub of no name', '{"version": 2, "hubs": [{}]}', 'addresses'],
  ['no hubs', '{"version": 2, "hubs": []}', 'names no hub'],
  ['no identity', '{"version": 2, "hubs": [{"name": "h", "addresses": ["a:1"], "ca": "c"}]}', 'known'],
  ['what is too large', 'x'.repeat(300_000), 'never larger'],
])('refuses %s, and says what to do', (_what, text, why) => {
  expect(() => parseJoin(text)).toThrow(why);
  expect(() => parseJoin(text)).toThrow('atoll join');
});

it('has a token for a cluster of any name', () => {
  const hub = joinedHub(notice, { tokens: { '*': 'T' } });
  expect([tokenFor(hub, 'edge'), tokenFor(hub, 'constructor')]).toEqual(['T', 'T']);
});

it('does not read what would grow without end', () => {
  const bomb = joinWord({ version: 2, hubs: [{ ...file.hubs[0], ca: ' '.repeat(10_000_000) }] } as JoinFile);
  expect(() => parseJoin(bomb)).toThrow('damaged');
});

it('names a missing file', () => {
  expect(() => readJoin('./nowhere.json')).toThrow('there is no file ./nowhere.json');
});

it('knows the hub by its own name where its certificate does not hold the address', () => {
  expect(joinedHub(notice, { tokens: {} })).not.toHaveProperty('serverName');
  expect(joinedHub(notice, { tokens: {}, addresses: ['hub.example:443'] })).not.toHaveProperty('serverName');
  expect(joinedHub(notice, { tokens: {}, addresses: ['198.51.100.7:443'] })).toMatchObject({
    serverName: 'hub',
  });
  expect(() => joinedHub(notice, { tokens: {}, addresses: ['hub.example'] })).toThrow('host:port');
});

it('has tokens for one name, for several, or for any', () => {
  expect(spokeNamed(file.hubs)).toBe('edge');
  const [hub] = file.hubs;
  if (!hub) throw new Error('no hub');
  expect(spokeNamed([{ ...hub, tokens: { '*': 'B' } }])).toBeUndefined();
  expect(spokeNamed([{ ...hub, tokens: { a: 'T', b: 'T' } }])).toBeUndefined();
  expect(tokenFor({ ...hub, tokens: { '*': 'B', edge: 'T' } }, 'edge')).toBe('T');
  expect(tokenFor({ ...hub, tokens: { '*': 'B', edge: 'T' } }, 'other')).toBe('B');
});

it('takes the later word for one hub', () => {
  const [hub] = file.hubs;
  if (!hub) throw new Error('no hub');
  const other = { ...hub, trust: { lineage: 'other', publicKey: 'k' } };
  const moved = { ...hub, addresses: ['elsewhere:1'] };
  expect(mergeJoins([file, { version: 2, hubs: [other, moved] }])).toEqual([moved, other]);
});
