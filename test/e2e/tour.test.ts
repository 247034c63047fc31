import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { isAlive } from '../../src/runtime/index.ts';
import { run } from './harness/command.ts';
import { describeFleet, type Fleet, newFleet } from './harness/fleet.ts';
import { waitReady } from './harness/manifests.ts';
import { until } from './harness/until.ts';

const SPOKES = ['spoke-1', 'spoke-2', 'spoke-3'];
const MEMBERS = ['hub', ...SPOKES];
const EXAMPLES = join(inject('checkout'), 'examples');
const EVERYTHING = 'cm,secret,sa,svc,deploy,sts,ds,job,cronjob,ingress,hpa,pdb';
const PART_OF_SHOP = ['-l', 'app.kubernetes.io/part-of=shop'];

let fleet: Fleet;

beforeAll(() => {
  fleet = newFleet();
});
afterAll(() => fleet?.stop());

/** The cells of a kubectl table. No cell of these tables holds a space. */
function rows(table: string): string[][] {
  return table
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/));
}

/** What somebody wrote, as `configmap/web`: without what a controller made of it, such as the Jobs of a CronJob whose hour comes. */
async function names(context: string, kind: string, ...args: string[]): Promise<string[]> {
  const { items } = JSON.parse(
    await fleet.kubectl(context, 'get', kind, '-n', 'shop', '-o', 'json', ...args),
  ) as { items: { kind: string; metadata: { name: string; ownerReferences?: unknown[] } }[] };
  return items
    .filter(({ metadata }) => !metadata.ownerReferences)
    .map((item) => `${item.kind.toLowerCase()}/${item.metadata.name}`);
}

describeFleet('what a user does and sees', () => {
  it('starts a hub and three spokes with one command, and says what to do next', async () => {
    const outcome = await fleet.atoll(['up']);
    expect(outcome).toMatchObject({ code: 0 });
    expect(outcome.stderr).toContain('3 spokes are connected');
    expect(outcome.stdout).toContain(`export KUBECONFIG=${fleet.kubeconfig}`);
    expect(outcome.stdout).toContain('kubectl --context hub get spokeclusters');
    const contexts = await fleet.kubectl('hub', 'config', 'get-contexts', '-o', 'name');
    const byHub = MEMBERS.filter((name) => name !== 'hub').map((name) => `${name}@hub`);
    expect(contexts.trim().split('\n').sort()).toEqual([...MEMBERS, ...byHub].sort());
  });

  it('writes a pid file and a log for each process, private to their owner', () => {
    for (const member of MEMBERS) {
      expect(isAlive(fleet.pid(member)), member).toBe(true);
      expect(fleet.log(member)).toContain('ready');
    }
    for (const path of [fleet.directory, fleet.kubeconfig]) expect(statSync(path).mode & 0o077, path).toBe(0);
  });

  it('[K1] lists every spoke with MODE VERSION NODES PLATFORM STATUS AGE', async () => {
    const [header, ...spokes] = rows(await fleet.kubectl('hub', 'get', 'spokeclusters'));
    expect(header).toEqual(['NAME', 'MODE', 'VERSION', 'NODES', 'PLATFORM', 'STATUS', 'AGE']);
    expect(spokes.map(([name]) => name)).toEqual(SPOKES);
    for (const [, mode, version, nodes, platform, status, age] of spokes) {
      expect(mode).toBe('connect');
      expect(version).toMatch(/^v1\.\d+\.\d+/);
      expect(Number(nodes)).toBeGreaterThan(0);
      expect(platform).not.toBe('');
      expect(status).toBe('Connected');
      expect(age).toMatch(/^\d+[smh]/);
    }
  });

  it('[K14] knows each spoke: version, nodes, processors, memory, as the spoke has them', async () => {
    const spoke = JSON.parse(await fleet.kubectl('hub', 'get', 'spokecluster', 'spoke-1', '-o', 'json'));
    const nodes = JSON.parse(await fleet.kubectl('spoke-1', 'get', 'nodes', '-o', 'json')).items;
    expect(spoke.status.clusterInfo).toMatchObject({
      nodeCount: nodes.length,
      kubernetesVersion: nodes[0].status.nodeInfo.kubeletVersion,
    });
    const cpus = nodes.map((node: { status: { capacity: { cpu: string } } }) =>
      Number(node.status.capacity.cpu),
    );
    expect(Number(spoke.status.clusterInfo.totalCPU)).toBe(
      cpus.reduce((sum: number, cpu: number) => sum + cpu, 0),
    );
  });

  it('[K26] places the unmodified manifests of the shop on every spoke and counts them', async () => {
    await fleet.kubectl('hub', 'apply', '-n', 'shop', '-f', join(EXAMPLES, 'shop'));
    await fleet.kubectl('hub', 'apply', '-f', join(EXAMPLES, 'shop-propagation.yaml'));
    await waitReady(fleet, 'shop', 'shop');
    const [header, row] = rows(await fleet.kubectl('hub', 'get', 'propagations', '-n', 'shop'));
    expect(header).toEqual(['NAME', 'CLUSTERS', 'READY', 'STALE', 'AGE']);
    expect(row?.slice(0, 4)).toEqual(['shop', '3', '3', '0']);
    const atHub = await names('hub', EVERYTHING, ...PART_OF_SHOP);
    expect(atHub.length).toBeGreaterThan(40);
    for (const spoke of SPOKES) {
      expect(await names(spoke, EVERYTHING, ...PART_OF_SHOP), spoke).toEqual(atHub);
      await fleet.kubectl(
        spoke,
        'wait',
        '-n',
        'shop',
        'deployment',
        '--all',
        '--for=condition=Available',
        '--timeout=10s',
      );
      await fleet.kubectl(
        spoke,
        'rollout',
        'status',
        '-n',
        'shop',
        'statefulset/cart-store',
        '--timeout=10s',
      );
      const routes = (context: string): Promise<string> =>
        fleet.kubectl(context, 'get', 'cm', 'web-routes', '-n', 'shop', '-o', 'jsonpath={.data}');
      expect(await routes(spoke)).toBe(await routes('hub'));
    }
  });

  it('[K33] records which revision was dispatched and reads back which one is applied', async () => {
    for (const spoke of SPOKES) {
      await until(`${spoke} has applied what was dispatched`, async () => {
        const { status } = JSON.parse(await fleet.kubectl('hub', 'get', 'spokecluster', spoke, '-o', 'json'));
        return status.dispatchedRevision !== '' && status.dispatchedRevision === status.appliedRevision;
      });
    }
  });

  it("shows spoke-2's overrides on spoke-2 only", async () => {
    const get = (spoke: string, object: string, path: string): Promise<string> =>
      fleet.kubectl(spoke, 'get', object, '-n', 'shop', '-o', `jsonpath=${path}`);
    const facts = async (spoke: string): Promise<string[]> => [
      await get(spoke, 'deploy/web', '{.spec.replicas} {.spec.template.spec.containers[0].image}'),
      await get(spoke, 'sts/cart-store', '{.spec.replicas}'),
      await get(spoke, 'cm/shop-settings', '{.data.REGION}'),
    ];
    const usual = await facts('hub');
    expect(usual[0]).toBe('3 registry.example.com/shop/web:1.4.0');
    expect(await facts('spoke-1')).toEqual(usual);
    expect(await facts('spoke-3')).toEqual(usual);
    expect(await facts('spoke-2')).toEqual(['1 registry.example.com/shop/web:1.5.0-rc.1', '1', 'branch']);
    const pods = rows(
      await fleet.kubectl(
        'spoke-2',
        'get',
        'po',
        '-n',
        'shop',
        '-l',
        'app.kubernetes.io/name=web',
        '--no-headers',
      ),
    );
    expect(pods.map(([, ready, status]) => `${ready} ${status}`)).toEqual(['1/1 Running']);
    for (const kind of ['deploy', 'po', 'svc'])
      expect(await fleet.kubectl('spoke-2', 'get', kind, '-n', 'shop')).toContain('web');
  });

  it('propagates an object that begins to match, and removes one that is deleted at the hub', async () => {
    await fleet.kubectl('hub', 'create', 'configmap', 'later', '-n', 'shop', '--from-literal=a=b');
    await fleet.kubectl('hub', 'label', 'configmap', 'later', '-n', 'shop', 'app.kubernetes.io/part-of=shop');
    for (const spoke of SPOKES)
      await until(`later on ${spoke}`, async () => (await names(spoke, 'cm')).includes('configmap/later'));
    await fleet.kubectl('hub', 'delete', 'configmap', 'later', '-n', 'shop');
    for (const spoke of SPOKES) {
      await until(
        `later gone from ${spoke}`,
        async () => !(await names(spoke, 'cm')).includes('configmap/later'),
      );
      expect(await names(spoke, 'deploy', ...PART_OF_SHOP)).toEqual(await names('hub', 'deploy'));
    }
    await waitReady(fleet, 'shop', 'shop');
  });

  it('[K21] follows the labels of clusters without a touch of the propagation', async () => {
    await fleet.apply(
      'hub',
      `apiVersion: atoll.dev/v1alpha1
kind: ClusterPropagation
metadata: {name: gold}
spec:
  resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: gold, namespace: default}]
  placement: {clusterSelector: {matchLabels: {tier: gold}}}
  deletionBudget: 100%
---
apiVersion: v1
kind: ConfigMap
metadata: {name: gold, namespace: default}
data: {a: b}
`,
    );
    const has = async (spoke: string): Promise<boolean> =>
      (await fleet.tryKubectl(spoke, ['get', 'cm', 'gold', '-n', 'default'])).code === 0;
    await fleet.kubectl('hub', 'label', 'spokecluster', 'spoke-3', 'tier=gold');
    await until('gold on spoke-3', () => has('spoke-3'));
    expect(await has('spoke-1')).toBe(false);
    await fleet.kubectl('hub', 'label', 'spokecluster', 'spoke-1', 'tier=gold');
    await fleet.kubectl('hub', 'label', 'spokecluster', 'spoke-3', 'tier-');
    await until(
      'gold on spoke-1, not on spoke-3',
      async () => (await has('spoke-1')) && !(await has('spoke-3')),
    );
    await fleet.kubectl('hub', 'delete', 'clusterpropagation', 'gold', '--timeout=20s');
    expect(await has('spoke-1')).toBe(false);
  });

  it('holds changes back while a propagation is suspended', async () => {
    const suspend = (value: boolean): Promise<string> =>
      fleet.kubectl(
        'hub',
        'patch',
        'propagation',
        'shop',
        '-n',
        'shop',
        '--type=merge',
        '-p',
        `{"spec":{"suspend":${value}}}`,
      );
    const currency = (): Promise<string> =>
      fleet.kubectl('spoke-1', 'get', 'cm', 'shop-settings', '-n', 'shop', '-o', 'jsonpath={.data.CURRENCY}');
    const before = await currency();
    await suspend(true);
    await fleet.kubectl(
      'hub',
      'wait',
      '-n',
      'shop',
      'propagation/shop',
      '--for=condition=Dispatched=False',
      '--timeout=10s',
    );
    await fleet.kubectl(
      'hub',
      'patch',
      'cm',
      'shop-settings',
      '-n',
      'shop',
      '--type=merge',
      '-p',
      '{"data":{"CURRENCY":"CHF"}}',
    );
    // Another propagation passes through the same hub meanwhile: when it has arrived, the suspended one would have too.
    await fleet.apply(
      'hub',
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: witness, namespace: default}\n',
    );
    await fleet.apply(
      'hub',
      `apiVersion: atoll.dev/v1alpha1
kind: Propagation
metadata: {name: witness, namespace: default}
spec: {resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: witness}], placement: {clusterNames: [spoke-1]}}
`,
    );
    await waitReady(fleet, 'default', 'witness');
    expect(await currency()).toBe(before);
    await suspend(false);
    await until('the change on spoke-1', async () => (await currency()) === 'CHF');
  });
});

describeFleet('processes of a fleet', () => {
  it('refuses a second `up` at the same time with a clear error; the first succeeds and nothing is lost', async () => {
    await fleet.mustAtoll('stop', 'spoke-3');
    const lock = join(fleet.directory, 'run', 'fleet.lock');
    const first = fleet.atoll(['up']);
    await until('the first at work', () => existsSync(lock), { everyMs: 5 });
    const second = await fleet.atoll(['up']);
    expect(second).toMatchObject({ code: 1, stdout: '' });
    expect(second.stderr).toMatch(/^atoll: another atoll command \(pid \d+\) is changing the fleet/m);
    expect(await first).toMatchObject({ code: 0 });
    expect(
      (await fleet.kubectl('hub', 'get', 'spokeclusters', '--no-headers')).match(/ Connected /g),
    ).toHaveLength(3);
  });

  it('`up` on a running fleet changes nothing', async () => {
    const before = MEMBERS.map((member) => fleet.pid(member));
    expect((await fleet.atoll(['up'])).stderr).toContain('everything was running already');
    expect(MEMBERS.map((member) => fleet.pid(member))).toEqual(before);
  });

  it.each([
    [['--spokes', '-1'], /--spokes/],
    [['--spokes', 'three'], /--spokes.*whole number/],
    [['--spokes', '2.5'], /--spokes.*whole number/],
    [['--spokes', '5000'], /--spokes must be a whole number from 0 to 50, not 5000/],
    [['--virtual', '99999'], /--virtual must be a whole number/],
    [['--nonsense'], /unknown option/],
  ])('refuses `up %j` before it does anything', async (args, message) => {
    const elsewhere = newFleet();
    const outcome = await elsewhere.atoll(['up', ...args]);
    expect(outcome.code).toBe(1);
    expect(outcome.stderr).toMatch(message);
    expect(existsSync(elsewhere.directory)).toBe(false);
  });

  it('refuses a directory that is something else', async () => {
    const outcome = await run(process.execPath, [
      join(inject('packageRoot'), 'dist', 'cli', 'main.js'),
      'up',
      '--dir',
      inject('packageRoot'),
    ]);
    expect(outcome).toMatchObject({ code: 1 });
    expect(outcome.stderr).toMatch(/is not a fleet of atoll/);
  });

  it('stops and starts one process by name', async () => {
    const before = fleet.pid('spoke-2');
    await fleet.mustAtoll('stop', 'spoke-2');
    expect(isAlive(before)).toBe(false);
    expect(existsSync(join(fleet.directory, 'run', 'spoke-2.pid'))).toBe(false);
    await fleet.kubectl(
      'hub',
      'wait',
      'spokecluster/spoke-2',
      '--for=condition=Connected=False',
      '--timeout=20s',
    );
    await until('the propagation counts spoke-2 as stale', async () => {
      const [row] = rows(
        await fleet.kubectl('hub', 'get', 'propagation', 'shop', '-n', 'shop', '--no-headers'),
      );
      return row?.slice(1, 4).join(' ') === '3 2 1';
    });
    await fleet.mustAtoll('start', 'spoke-2');
    expect(fleet.pid('spoke-2')).not.toBe(before);
    await fleet.kubectl('hub', 'wait', 'spokecluster/spoke-2', '--for=condition=Connected', '--timeout=20s');
    const unknown = await fleet.atoll(['start', 'spoke-9']);
    expect(unknown).toMatchObject({ code: 1 });
    expect(unknown.stderr).toContain('spoke-9 is not in the fleet; it has: hub, spoke-1, spoke-2, spoke-3');
  });

  it('`down` stops every process; `up` goes on with all state', async () => {
    const uids = async (context: string): Promise<string> =>
      fleet.kubectl(
        context,
        'get',
        'deploy,svc,cm,secret,cronjob,sts,ds,po',
        '-n',
        'shop',
        '-o',
        'jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.uid}{"\\n"}{end}',
      );
    await waitReady(fleet, 'shop', 'shop');
    const before = await Promise.all(MEMBERS.map(uids));
    const pids = MEMBERS.map((member) => fleet.pid(member));
    expect(await fleet.mustAtoll('down')).toContain('State is kept in');
    expect(pids.filter(isAlive)).toEqual([]);
    expect(await fleet.mustAtoll('down')).toContain('Nothing was running');
    await fleet.mustAtoll('up');
    expect(await Promise.all(MEMBERS.map(uids))).toEqual(before);
    await waitReady(fleet, 'shop', 'shop');
  });

  it('`up --virtual 5` adds spokes that share one process', async () => {
    await fleet.mustAtoll('up', '--virtual', '5');
    const table = rows(await fleet.kubectl('hub', 'get', 'spokeclusters', '--no-headers'));
    expect(table.map(([name, , , , , status]) => `${name} ${status}`)).toEqual(
      [...SPOKES, 1, 2, 3, 4, 5].map(
        (name) => `${typeof name === 'number' ? `virtual-${name}` : name} Connected`,
      ),
    );
    await waitReady(fleet, 'shop', 'shop');
    expect(await names('virtual-5', 'deploy')).toEqual(await names('hub', 'deploy'));
    await fleet.kubectl('virtual-4', 'create', 'configmap', 'mine', '-n', 'shop');
    expect(await names('virtual-5', 'cm')).not.toContain('configmap/mine');
  });

  it('takes everything from every spoke when the propagation is deleted', async () => {
    await fleet.kubectl('hub', 'delete', 'propagation', 'shop', '-n', 'shop', '--timeout=30s');
    for (const spoke of [...SPOKES, 'virtual-1', 'virtual-5']) {
      const left = await names(spoke, EVERYTHING, ...PART_OF_SHOP);
      expect(left, spoke).toEqual([]);
    }
    // What someone else made there stays.
    expect(await names('virtual-4', 'cm')).toContain('configmap/mine');
    expect((await names('hub', EVERYTHING, ...PART_OF_SHOP)).length).toBeGreaterThan(40);
  });

  it('`reset` forgets the fleet, and a new one begins empty', async () => {
    const pids = [...MEMBERS, 'virtual'].map((member) => fleet.pid(member));
    expect(await fleet.mustAtoll('reset')).toContain('Deleted');
    expect(existsSync(fleet.directory)).toBe(false);
    expect(pids.filter(isAlive)).toEqual([]);
    expect(await fleet.mustAtoll('reset')).toContain('There is no fleet');
    await fleet.mustAtoll('up', '--spokes', '1');
    expect((await fleet.tryKubectl('hub', ['get', 'ns', 'shop'])).code).toBe(1);
    expect((await fleet.kubectl('hub', 'get', 'spokeclusters', '-o', 'name')).trim()).toBe(
      'spokecluster.core.oam.dev/spoke-1',
    );
    expect(JSON.parse(readFileSync(join(fleet.directory, 'fleet.json'), 'utf8')).members).toHaveLength(2);
  });

  it('`up --foreground` stays until Ctrl-C, and then stops the fleet', async () => {
    let interrupt: (() => void) | undefined;
    const outcome = await fleet.atoll(['up', '--foreground'], {
      onStart: (child) => {
        interrupt = () => child.kill('SIGINT');
      },
      onOutput: (text) => {
        if (!text.includes('Ctrl-C stops the fleet')) return;
        interrupt?.();
        // A second one would end the command at once.
        interrupt = undefined;
      },
    });
    expect(outcome).toMatchObject({ code: 0 });
    for (const member of ['hub', 'spoke-1']) {
      expect(existsSync(join(fleet.directory, 'run', `${member}.pid`)), member).toBe(false);
    }
  });
});
