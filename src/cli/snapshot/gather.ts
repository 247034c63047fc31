import { SYSTEM_NAMESPACE } from '../../engine/dispatch/index.ts';
import type { Client, ResourceId } from '../../kube/client.ts';
import { readBody } from '../../kube/exchange.ts';
import { pagesOf } from '../../kube/pages.ts';
import { configMaps, customResourceDefinitions, events, pods, secrets } from '../../kube/well-known.ts';
import { errorText } from '../../runtime/log.ts';
import { listAt, stringAt } from '../../schema/json.ts';
import type { ArchivedFile } from './tar.ts';
import { withoutSecrets } from './without-secrets.ts';

/** What a snapshot is taken of. */
export interface SnapshotSource {
  readonly hub: Client;
  /** Spokes, through the hub. */
  readonly spokes: ReadonlyMap<string, Client>;
  /** Logs on this machine, by the name of the process. */
  readonly logs: ReadonlyMap<string, () => Uint8Array>;
  readonly version: string;
  /** RFC 3339. */
  readonly takenAt: string;
}

export interface Snapshot {
  readonly files: readonly ArchivedFile[];
  /** What could not be had, and why. It is in the archive as well. */
  readonly missing: readonly string[];
}

/** API groups whose kinds steer a fleet. */
const CONTROL_GROUPS =
  /^(core\.oam\.dev|kro\.run)$|(^|\.)(atoll\.dev|kubefed\.io|kubestellar\.io|karmada\.io|oam\.dev|x-k8s\.io|open-cluster-management\.io)$/;
const LIST_PAGE = 500;
const POD_LOG_BYTES = 4 * 1024 * 1024;

/** Reads all control objects of a hub, what its spokes tell of themselves, and logs. What cannot be had is told, and stops nothing. */
export async function gatherSnapshot(source: SnapshotSource): Promise<Snapshot> {
  const files: ArchivedFile[] = [];
  const missing: string[] = [];
  const add = (path: string, text: string): void => void files.push({ path, content: Buffer.from(text) });
  const attempt = async (what: string, act: () => Promise<void>): Promise<void> => {
    try {
      await act();
    } catch (error) {
      missing.push(`${what}: ${errorText(error)}`);
    }
  };
  const readAll = async (
    place: string,
    client: Client,
    resource: ResourceId,
    namespace = '',
  ): Promise<void> => {
    const { group } = resource;
    const path = `${place}/${resource.resource}${group === '' ? '' : `.${group}`}.json`;
    await attempt(path, async () => {
      const items = [];
      for await (const page of pagesOf(client, resource, namespace, { limit: LIST_PAGE }))
        items.push(...page.map(withoutSecrets));
      if (items.length > 0) add(path, `${JSON.stringify(items, null, 1)}\n`);
    });
  };

  await attempt('hub/kinds', async () => {
    for (const resource of await controlKinds(source.hub)) await readAll('hub', source.hub, resource);
  });
  await readAll('hub', source.hub, customResourceDefinitions);
  await readAll('hub', source.hub, events);
  for (const resource of [secrets, configMaps]) await readAll('hub', source.hub, resource, SYSTEM_NAMESPACE);
  await podLogs(source.hub, add, attempt);
  for (const [name, client] of source.spokes) {
    await attempt(`spokes/${name}`, async () => {
      for (const resource of await controlKinds(client)) {
        if (SPOKE_KINDS.has(`${resource.resource}.${resource.group}`))
          await readAll(`spokes/${name}`, client, resource);
      }
    });
  }
  for (const [name, read] of source.logs)
    await attempt(`logs/${name}.log`, async () => {
      files.push({ path: `logs/${name}.log`, content: read() });
    });
  const { version, takenAt } = source;
  add('snapshot.json', `${JSON.stringify({ version, takenAt, files: files.length, missing }, null, 1)}\n`);
  return { files, missing };
}

/** What users of a hub may read of its spokes. */
const SPOKE_KINDS = new Set(['clusters.core.oam.dev', 'spokecontracts.atoll.dev', 'dispatches.atoll.dev']);

/** The newest version of every kind that steers a fleet. */
async function controlKinds(client: Client): Promise<ResourceId[]> {
  const { groups = [] } = await client.getJson<{ groups?: unknown[] }>('/apis');
  const found: ResourceId[] = [];
  for (const item of groups) {
    const group = stringAt(item, 'name') ?? '';
    const version = stringAt(item, 'preferredVersion', 'version') ?? '';
    if (!CONTROL_GROUPS.test(group)) continue;
    const list = await client.getJson(`/apis/${group}/${version}`);
    for (const resource of listAt(list, 'resources')) {
      const name = stringAt(resource, 'name') ?? '';
      const verbs = listAt(resource, 'verbs');
      if (name.includes('/') || !verbs.includes('list')) continue;
      const kind = stringAt(resource, 'kind') ?? '';
      found.push({ group, version, resource: name, kind, namespaced: isNamespaced(resource) });
    }
  }
  return found;
}

function isNamespaced(resource: unknown): boolean {
  return (
    typeof resource === 'object' &&
    resource !== null &&
    'namespaced' in resource &&
    resource.namespaced === true
  );
}

/** Of the pods of an engine that runs in the hub's cluster. */
async function podLogs(
  client: Client,
  add: (path: string, text: string) => void,
  attempt: (what: string, act: () => Promise<void>) => Promise<void>,
): Promise<void> {
  await attempt('logs of pods', async () => {
    const { items } = await client.list(pods, SYSTEM_NAMESPACE);
    for (const pod of items) {
      const name = pod.metadata.name ?? '';
      for (const container of listAt(pod, 'spec', 'containers')) {
        const word = stringAt(container, 'name') ?? '';
        await attempt(`logs/${name}/${word}.log`, async () => {
          const path = `/api/v1/namespaces/${SYSTEM_NAMESPACE}/pods/${name}/log?container=${encodeURIComponent(word)}&limitBytes=${POD_LOG_BYTES}&tailLines=20000`;
          const response = await client.handler({ method: 'GET', path, headers: {} });
          const text = Buffer.from(await readBody(response, 2 * POD_LOG_BYTES)).toString('utf8');
          if (response.status !== 200) throw new Error(`the answer was ${response.status}`);
          add(`logs/${name}/${word}.log`, text);
        });
      }
    }
  });
}
