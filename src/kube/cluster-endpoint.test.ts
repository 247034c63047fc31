import { expect, it } from 'vitest';
import { checkEndpoint, checkProxy } from './cluster-endpoint.ts';

const resolve = async (name: string): Promise<string[]> =>
  ({
    'ok.example.com': ['10.0.0.5', 'fd12::1'],
    'meta.example.com': ['203.0.113.7', '169.254.169.254'],
    'me.example.com': ['::1'],
  })[name] ?? [];

it.each([
  'https://169.254.169.254',
  'https://localhost:6443',
  'https://api.localhost',
  'https://127.8.9.1:6443',
  'https://2130706433/',
  'https://0x7f.1/',
  'https://0.0.0.0',
  'https://[::1]:6443',
  'https://[::]',
  'https://[fe80::1]',
  'https://[::ffff:169.254.169.254]',
  'https://[64:ff9b::7f00:1]',
  'https://[fd00:ec2::254]',
  'https://168.63.129.16',
  'https://metadata',
  'https://metadata.google.internal.',
  'https://kubernetes',
  'https://kubernetes.default',
  'https://kubernetes.default.svc',
  'https://a.b.svc.cluster.local',
  'https://a.CLUSTER.local',
  'https://meta.example.com',
  'https://me.example.com',
  'https://unknown.example.com',
  'http://10.0.0.5',
  'ftp://10.0.0.5',
  'https://user:pw@10.0.0.5',
  'https://10.0.0.5/?x=1',
  'not a url',
])('[K4] refuses the endpoint %s', async (url) => {
  expect(await checkEndpoint(url, resolve)).toEqual(expect.any(String));
});

it.each([
  'https://10.0.0.5:6443',
  'https://192.168.1.7/clusters/hub',
  'https://ok.example.com',
  'https://[2001:db8::1]:6443',
])('[K4] lets the endpoint %s pass', async (url) => {
  expect(await checkEndpoint(url, resolve)).toBeUndefined();
});

it('[K4] lets loopback pass only where it is allowed, and nothing else with it', async () => {
  const rules = { allowLoopback: true };
  const lookup = async (name: string): Promise<string[]> =>
    name === 'localhost' ? ['127.0.0.1', '::1'] : [];
  for (const url of ['https://127.0.0.1:6443', 'https://[::1]', 'https://localhost:1'])
    expect(await checkEndpoint(url, lookup, rules)).toBeUndefined();
  expect(await checkEndpoint('https://169.254.169.254', lookup, rules)).toMatch(/link-local/);
});

it('[K4] says why a name that cannot be resolved is refused', async () => {
  const failing = async (): Promise<string[]> => {
    throw new Error('timed out');
  };
  expect(await checkEndpoint('https://x.example.com', failing)).toMatch(/cannot be resolved: timed out/);
});

it('[K11] refuses metadata services, this machine, names of clusters, and names that lead there', async () => {
  for (const url of [
    'https://169.254.169.254',
    'https://localhost',
    'https://api.shop.svc',
    'https://meta.example.com',
  ])
    expect(await checkEndpoint(url, resolve)).toEqual(expect.any(String));
  expect(await checkEndpoint('https://10.0.0.5', resolve)).toBeUndefined();
});

it('[K11] refuses the same as a proxy, and takes one of a private network', async () => {
  for (const url of [
    'http://169.254.169.254',
    'https://localhost',
    'socks5://proxy.kube-system.svc',
    'http://meta.example.com:3128',
    'ftp://10.0.0.5',
    'nowhere',
  ])
    expect(await checkProxy(url, resolve)).toEqual(expect.any(String));
  expect(await checkProxy('http://me:hush@localhost', resolve)).not.toContain('hush');
  for (const url of ['http://10.0.0.5', 'socks5://me:hush@10.0.0.5:1080'])
    expect(await checkProxy(url, resolve)).toBeUndefined();
});
