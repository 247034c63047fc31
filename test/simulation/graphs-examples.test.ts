// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { KubeObject } from '../../src/kube/object.ts';
import { type SimulatedFleet, type SimulationOptions, simulateFleet, stored } from './fleet.ts';
import { graphsWords, state } from './graphs-rig.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet?.stop());
const { a, write, remove, rgd } = graphsWords(() => fleet);

async function open(options: SimulationOptions = {}): Promise<void> {
  fleet = await simulateFleet(7, ['a'], options);
}

const EXAMPLES = join(import.meta.dirname, '../../../shared/data/kro-examples');

describe.skipIf(!existsSync(EXAMPLES))("kro's examples", () => {
  const folders = existsSync(EXAMPLES) ? readdirSync(EXAMPLES) : [];

  async function bringUp(folder: string): Promise<{ made: KubeObject; now: () => KubeObject | undefined }> {
    await open({ workloads: true });
    const objects = readdirSync(join(EXAMPLES, folder))
      .flatMap((file) => parseAllDocuments(readFileSync(join(EXAMPLES, folder, file), 'utf8')))
      .map((document) => document.toJS() as KubeObject);
    const graph = objects.find(({ kind }) => kind === 'ResourceGraphDefinition') as KubeObject;
    const { name = '' } = graph.metadata;
    await write(graph);
    await fleet.until(() => state(rgd(name)) === 'Active', `${folder} active`);
    const made = await write(objects.find(({ kind }) => kind !== 'ResourceGraphDefinition') as KubeObject);
    const { resource } = await fleet.run(a().client.resourceFor(made.apiVersion, made.kind));
    return { made, now: () => stored(a(), `kro.run/${resource}/default/${made.metadata.name}`) };
  }

  it.each(folders)('%s runs unmodified to ACTIVE', async (folder) => {
    const { made, now } = await bringUp(folder);
    await fleet.until(() => state(now()) === 'ACTIVE', 'the instance active', 180_000);
    await remove(made.apiVersion, made.kind, made.metadata.name ?? '');
    await fleet.until(() => now() === undefined, 'the instance gone');
  });
});

if (!existsSync(EXAMPLES))
  // A suite that did not run must not look like one that passed.
  process.stderr.write(`SKIPPED: the examples of kro are not at ${EXAMPLES}\n`);
