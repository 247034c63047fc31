import { join } from 'node:path';
import { inject } from 'vitest';
import { type Fleet, newFleet } from './fleet.ts';
import { waitReady } from './manifests.ts';

/** Clusters of a fleet in regions, two in each: one with a process of its own, one that shares its process. */
export const REGIONS: Readonly<Record<string, readonly string[]>> = {
  eu: ['spoke-1', 'virtual-1'],
  us: ['spoke-2', 'virtual-2'],
  ap: ['spoke-3', 'virtual-3'],
};

/** A fleet over three regions with the shop of the examples in one cluster of each. */
export async function startRegions(): Promise<Fleet> {
  const examples = join(inject('checkout'), 'examples');
  const fleet = newFleet();
  await fleet.mustAtoll('up', '--spokes', '3', '--virtual', '3');
  for (const [region, clusters] of Object.entries(REGIONS))
    await fleet.kubectl('hub', 'label', 'spokecluster', ...clusters, `region=${region}`);
  await fleet.kubectl('hub', 'apply', '-n', 'shop', '-f', join(examples, 'shop'));
  await fleet.kubectl('hub', 'apply', '-f', join(examples, 'shop-rollout.yaml'));
  await waitReady(fleet, 'shop', 'shop');
  return fleet;
}

/** The clusters that the shop is placed on. */
export async function chosen(fleet: Fleet, name = 'shop', namespace = 'shop'): Promise<string[]> {
  const text = await fleet.kubectl(
    'hub',
    'get',
    'propagation',
    name,
    '-n',
    namespace,
    '-o',
    'jsonpath={.status.decision.chosen}',
  );
  return JSON.parse(text) as string[];
}

/** The one of a region's clusters that has the shop, and the one that has not. */
export function inRegion(region: string, clusters: readonly string[]): { has: string; hasNot: string } {
  const all = REGIONS[region] ?? [];
  const has = all.filter((name) => clusters.includes(name));
  const hasNot = all.filter((name) => !clusters.includes(name));
  if (has.length !== 1 || hasNot.length !== 1)
    throw new Error(`${region} has the shop on ${has.join(' and ') || 'no cluster'}`);
  return { has: has[0] ?? '', hasNot: hasNot[0] ?? '' };
}
