import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Fleet } from './fleet.ts';

/** A file of `test/e2e/manifests/`. */
export function manifestPath(name: string): string {
  return fileURLToPath(new URL(`../manifests/${name}`, import.meta.url));
}

export function manifest(name: string): string {
  return readFileSync(manifestPath(name), 'utf8');
}

/** Puts the small shop on every spoke and waits until it is ready everywhere. */
export async function propagateShop(fleet: Fleet): Promise<void> {
  await fleet.kubectl('hub', 'create', 'namespace', 'shop');
  await fleet.kubectl('hub', 'apply', '-n', 'shop', '-f', manifestPath('shop.yaml'));
  await fleet.apply('hub', manifest('shop-propagation.yaml'));
  await waitReady(fleet, 'shop', 'shop');
}

export async function waitReady(fleet: Fleet, namespace: string, name: string): Promise<void> {
  await fleet.kubectl(
    'hub',
    'wait',
    '-n',
    namespace,
    `propagation/${name}`,
    '--for=condition=Ready',
    '--timeout=30s',
  );
}
