import type { Client } from '../kube/client.ts';
import { readManifests } from '../kube/manifests.ts';
import type { KubeObject } from '../kube/object.ts';
import { customResourceDefinitions } from '../kube/well-known.ts';
import type { Clock } from '../runtime/index.ts';
import { listAt, stringAt } from '../schema/json.ts';
import { untilHolds } from './moving-time.ts';

const KIND = 'CustomResourceDefinition';
const MANAGER = 'atoll-testing';

/** The CustomResourceDefinitions in files and folders (and those below). Throws an Error that names each file that is wrong. */
export async function readCrds(paths: readonly string[]): Promise<KubeObject[]> {
  const { manifests, problems } = await readManifests(paths, { recursive: true });
  if (problems.length > 0) {
    const lines = problems.map(({ source, line, message }) => `${source}:${line}: ${message}`);
    throw new Error(`definitions could not be read:\n${lines.join('\n')}`);
  }
  const found = manifests.map(({ object }) => object).filter((object) => object.kind === KIND);
  if (found.length === 0) throw new Error(`there is no ${KIND} in ${paths.join(', ')}`);
  return found;
}

/** Installs definitions and waits until the API server serves them. */
export async function installDefinitions(
  clock: Clock,
  client: Client,
  definitions: readonly KubeObject[],
): Promise<void> {
  for (const definition of definitions)
    await client.apply(customResourceDefinitions, definition, { fieldManager: MANAGER, force: true });
  for (const { metadata } of definitions) {
    const { name = '' } = metadata;
    await untilHolds(
      clock,
      async () => isEstablished(await client.get(customResourceDefinitions, '', name)),
      `that ${name} is established`,
    );
  }
}

function isEstablished(definition: KubeObject): boolean {
  return listAt(definition, 'status', 'conditions').some(
    (condition) => stringAt(condition, 'type') === 'Established' && stringAt(condition, 'status') === 'True',
  );
}
