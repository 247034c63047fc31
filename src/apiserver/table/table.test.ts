import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import { loadCatalogue } from '../catalogue/index.ts';
import { BUILTIN_CELLS } from './builtin-cells.ts';
import { builtinColumns } from './builtin-columns.ts';
import { crdColumns } from './crd-columns.ts';
import { statusTable, tableOf } from './table.ts';

const NOW = Date.UTC(2026, 0, 10, 12);
const ago = (seconds: number): string => `${new Date(NOW - seconds * 1000).toISOString().slice(0, 19)}Z`;

const RECORDED = new URL('../../../../shared/data/kubernetes/reference/', import.meta.url);
const hasRecorded = existsSync(RECORDED);
if (!hasRecorded)
  console.warn(`SKIPPED: recorded answers of a Kubernetes server are not at ${RECORDED.pathname}`);

type Fields = {
  apiVersion?: string;
  kind?: string;
  metadata?: KubeObject['metadata'];
  [field: string]: unknown;
};

/** An object that is 90 seconds old. */
function object(fields: Fields): KubeObject {
  const { metadata, ...rest } = fields;
  return {
    apiVersion: 'v1',
    kind: 'X',
    metadata: { name: 'a', creationTimestamp: ago(90), ...metadata },
    ...rest,
  };
}

function cells(group: string, resource: string, fields: Fields): unknown[] {
  const printer = builtinColumns(group, resource);
  const found = [...printer!.cells(object(fields), NOW)];
  expect(found, resource).toHaveLength(printer!.columns.length);
  return found;
}

function pod(status: object, spec: object = {}, metadata: KubeObject['metadata'] = {}): unknown[] {
  return cells('', 'pods', {
    metadata,
    spec: { containers: [{ name: 'c' }, { name: 'd' }], ...spec },
    status,
  });
}

describe('tables', () => {
  const configMaps = builtinColumns('', 'configmaps')!;
  const one = object({ data: { a: '1', b: '2' }, metadata: { name: 'm', namespace: 'n' } });

  it('[V34] hold columns, cells and the metadata of each object', () => {
    expect(tableOf(configMaps, [one], { now: NOW, metadata: { resourceVersion: '7' } })).toEqual({
      kind: 'Table',
      apiVersion: 'meta.k8s.io/v1',
      metadata: { resourceVersion: '7' },
      columnDefinitions: [
        { name: 'Name', type: 'string', format: 'name', description: '', priority: 0 },
        { name: 'Data', type: 'string', format: '', description: '', priority: 0 },
        { name: 'Age', type: 'string', format: '', description: '', priority: 0 },
      ],
      rows: [
        {
          cells: ['m', 2, '90s'],
          object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: one.metadata },
        },
      ],
    });
  });

  it('hold as much of the object as is asked for', () => {
    const rows = (includeObject: 'None' | 'Object') =>
      tableOf(configMaps, [one], { now: NOW, includeObject }).rows;
    expect(rows('None')).toEqual([{ cells: ['m', 2, '90s'], object: null }]);
    expect(rows('Object')).toEqual([{ cells: ['m', 2, '90s'], object: one }]);
    expect(tableOf(configMaps, [one], { now: NOW, version: 'v1beta1', columns: false })).toMatchObject({
      apiVersion: 'meta.k8s.io/v1beta1',
      columnDefinitions: null,
      rows: [{ object: { apiVersion: 'meta.k8s.io/v1beta1' } }],
    });
  });

  it('show a Status in three columns', () => {
    const table = statusTable({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' });
    expect(table).toMatchObject({ kind: 'Table', rows: [{ cells: ['Success', '', ''] }] });
  });
});

describe('printers of built-in kinds', () => {
  it('[V34] give one cell per column, whatever is missing', () => {
    for (const { group, version, resource } of loadCatalogue().resources) {
      const printer = builtinColumns(group, resource)!;
      const apiVersion = group === '' ? version : `${group}/${version}`;
      for (const spec of [undefined, {}, { type: 5, containers: 'x', ports: [null, 3], selector: [] }]) {
        const found = printer.cells(object({ apiVersion, spec, status: spec }), NOW);
        expect(found, resource).toHaveLength(printer.columns.length);
        for (const cell of found) expect(cell).not.toBeUndefined();
      }
    }
    expect(builtinColumns('example.com', 'widgets')).toBeUndefined();
    const known = new Set(loadCatalogue().resources.map((item) => `${item.group}/${item.resource}`));
    for (const key of Object.keys(BUILTIN_CELLS)) expect(known).toContain(key);
  });

  it.skipIf(!hasRecorded)('[V34] show what a Kubernetes server shows', () => {
    interface Step {
      id: string;
      method: string;
      path: string;
      expect: { status: number; body?: Record<string, unknown> };
    }
    let compared = 0;
    for (const file of readdirSync(RECORDED).filter((name) => name.startsWith('a-kind-'))) {
      const { steps } = JSON.parse(readFileSync(new URL(file, RECORDED), 'utf8')) as { steps: Step[] };
      const created = steps.find((step) => step.id === 'create');
      const table = steps.find((step) => step.id === 'get-table')?.expect.body as
        | { columnDefinitions: { name: string }[]; rows: { cells?: unknown[] }[] }
        | undefined;
      const expected = table?.rows[0]?.cells;
      if (!created || !expected) continue;
      const text = JSON.stringify(created.expect.body).replaceAll(/<(micro)?time>/g, ago(90));
      const [, group = '', resource = ''] =
        /^\/(?:api|apis\/([^/]+))\/[^/]+\/(?:namespaces\/[^/]+\/)?([^/?]+)(?:\?.*)?$/.exec(created.path) ??
        [];
      const printer = builtinColumns(group, resource)!;
      const found = printer
        .cells(JSON.parse(text), NOW)
        .map((cell) =>
          typeof cell !== 'string'
            ? cell
            : /^(\d+[smhdy]){1,2}$/.test(cell)
              ? '<age>'
              : cell.replace(ago(90), '<time>'),
        );
      const byName = Object.fromEntries(printer.columns.map((column, index) => [column.name, found[index]]));
      for (const [index, column] of table.columnDefinitions.entries()) {
        if (!(column.name in byName)) continue; // dropped since that version
        expect(byName[column.name], `${file} ${column.name}`).toEqual(expected[index]);
      }
      compared++;
    }
    expect(compared).toBeGreaterThan(20);
  });

  it('[V34] pods: readiness, restarts and addresses', () => {
    const running = { ready: true, restartCount: 1, state: { running: {} } };
    expect(
      pod(
        {
          phase: 'Running',
          podIPs: [{ ip: '10.0.0.1' }],
          nominatedNodeName: 'n2',
          conditions: [{ type: 'gate', status: 'True' }],
          containerStatuses: [
            { ...running, lastState: { terminated: { finishedAt: ago(300) } } },
            { ...running, ready: false },
          ],
        },
        { nodeName: 'n1', readinessGates: [{ conditionType: 'gate' }, { conditionType: 'other' }] },
      ),
    ).toEqual(['a', '1/2', 'Running', '2 (5m ago)', '90s', '10.0.0.1', 'n1', 'n2', '1/2']);
    expect(pod({ phase: 'Pending' })).toEqual([
      'a',
      '0/2',
      'Pending',
      '0',
      '90s',
      '<none>',
      '<none>',
      '<none>',
      '<none>',
    ]);
  });

  it('[V34] pods: the status tells the first trouble', () => {
    const status = (...args: Parameters<typeof pod>) => pod(...args)[2];
    const waiting = (reason: string) => ({ state: { waiting: { reason } } });
    const ended = (exitCode: number, reason?: string, signal?: number) => ({
      state: { terminated: { exitCode, reason, signal } },
    });
    const up = { ready: true, state: { running: {} } };
    const ready = [{ type: 'Ready', status: 'True' }];
    const main = (...containerStatuses: object[]) => ({ phase: 'Running', containerStatuses });
    const init = (...initContainerStatuses: object[]) => ({ phase: 'Pending', initContainerStatuses });
    const inits = { initContainers: [{ name: 'x' }, { name: 'y' }] };

    expect(status({ phase: 'Failed', reason: 'Evicted' })).toBe('Evicted');
    expect(status(main(waiting('CrashLoopBackOff'), up))).toBe('CrashLoopBackOff');
    expect(status(main(waiting('A'), waiting('B')))).toBe('A');
    expect(status(main(ended(3)))).toBe('ExitCode:3');
    expect(status(main(ended(0, undefined, 9)))).toBe('Signal:9');
    expect(status(main(ended(0, 'Completed'), up))).toBe('NotReady');
    expect(status({ ...main(ended(0, 'Completed'), up), conditions: ready })).toBe('Running');
    expect(status(main(ended(0, 'Completed'), ended(1, 'Error'), up))).toBe('Error');
    expect(status(init(waiting('PodInitializing')), inits)).toBe('Init:0/2');
    expect(status(init(ended(0), waiting('ErrImagePull')), inits)).toBe('Init:ErrImagePull');
    expect(status(init(ended(2)), inits)).toBe('Init:ExitCode:2');
    expect(status(init(ended(1, 'OOMKilled')), inits)).toBe('Init:OOMKilled');
    expect(
      status({
        phase: 'Pending',
        conditions: [{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated' }],
      }),
    ).toBe('SchedulingGated');
    const deleted = { deletionTimestamp: ago(1) };
    expect(status({ phase: 'Running' }, {}, deleted)).toBe('Terminating');
    expect(status({ phase: 'Succeeded' }, {}, deleted)).toBe('Succeeded');
    expect(status({ phase: 'Running', reason: 'NodeLost' }, {}, deleted)).toBe('Unknown');
  });

  it('[V34] pods: a sidecar counts as a container', () => {
    const found = pod(
      {
        phase: 'Running',
        initContainerStatuses: [
          { name: 'once', restartCount: 5, state: { terminated: { exitCode: 0 } } },
          { name: 'side', restartCount: 2, started: true, ready: true, state: { running: {} } },
        ],
        containerStatuses: [{ ready: true, state: { running: {} } }],
      },
      { initContainers: [{ name: 'once' }, { name: 'side', restartPolicy: 'Always' }] },
    );
    expect(found.slice(1, 4)).toEqual(['2/3', 'Running', '2']);
  });

  it('[V34] workloads', () => {
    const template = {
      spec: {
        nodeSelector: { b: '2', a: '1' },
        containers: [
          { name: 'c', image: 'i' },
          { name: 'd', image: 'j' },
        ],
      },
    };
    const selector = {
      matchLabels: { app: 'x' },
      matchExpressions: [
        { key: 'b', operator: 'In', values: ['2', '1'] },
        { key: 'c', operator: 'DoesNotExist' },
      ],
    };
    expect(
      cells('apps', 'deployments', {
        spec: { replicas: 3, selector, template },
        status: { readyReplicas: 1, updatedReplicas: 2, availableReplicas: 1 },
      }),
    ).toEqual(['a', '1/3', 2, 1, '90s', 'c,d', 'i,j', 'app=x,b in (1,2),!c']);
    expect(
      cells('apps', 'daemonsets', {
        spec: { template, selector },
        status: { desiredNumberScheduled: 4 },
      }).slice(1, 8),
    ).toEqual([4, 0, 0, 0, 0, 'a=1,b=2', '90s']);
    const job = (spec: object, status: object) => cells('batch', 'jobs', { spec, status }).slice(1, 4);
    expect(job({ completions: 3 }, { succeeded: 1, startTime: ago(30) })).toEqual(['Running', '1/3', '30s']);
    expect(
      job(
        { parallelism: 2 },
        { startTime: ago(30), completionTime: ago(10), conditions: [{ type: 'Complete', status: 'True' }] },
      ),
    ).toEqual(['Complete', '0/1 of 2', '20s']);
    expect(
      cells('batch', 'cronjobs', {
        spec: { schedule: '* * * * *', suspend: false, jobTemplate: { spec: { template } } },
        status: { active: [{}], lastScheduleTime: ago(60) },
      }),
    ).toEqual(['a', '* * * * *', '<none>', 'False', 1, '60s', '90s', 'c,d', 'i,j', '<none>']);
    const owner = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'web', uid: 'u', controller: true };
    expect(
      cells('apps', 'controllerrevisions', { metadata: { ownerReferences: [owner] }, revision: 2 }),
    ).toEqual(['a', 'statefulset.apps/web', 2, '90s']);
  });

  it('[V34] services and endpoints', () => {
    const ports = [
      { port: 80, nodePort: 30080, protocol: 'TCP' },
      { port: 53, protocol: 'UDP' },
    ];
    const service = (spec: object, status: object = {}) => cells('', 'services', { spec, status }).slice(1);
    expect(
      service({ type: 'LoadBalancer', clusterIP: '10.1.1.1', ports, selector: { b: '1', a: '2' } }),
    ).toEqual(['LoadBalancer', '10.1.1.1', '<pending>', '80:30080/TCP,53/UDP', '90s', 'a=2,b=1']);
    expect(
      service(
        { type: 'LoadBalancer', ports },
        { loadBalancer: { ingress: [{ ip: '1.2.3.4' }, { hostname: 'h' }] } },
      )[2],
    ).toBe('1.2.3.4,h');
    expect(service({ type: 'ExternalName', externalName: 'x.org' }).slice(0, 4)).toEqual([
      'ExternalName',
      '<none>',
      'x.org',
      '<none>',
    ]);
    expect(
      cells('', 'endpoints', {
        subsets: [{ addresses: [{ ip: '10.0.0.1' }, { ip: '10.0.0.2' }], ports: [{ port: 1 }, { port: 2 }] }],
      })[1],
    ).toBe('10.0.0.1:1,10.0.0.2:1,10.0.0.1:2 + 1 more...');
    expect(cells('', 'endpoints', {})[1]).toBe('<none>');
    expect(cells('discovery.k8s.io', 'endpointslices', { addressType: 'IPv4' }).slice(1, 4)).toEqual([
      'IPv4',
      '<unset>',
      '<unset>',
    ]);
    expect(
      cells('networking.k8s.io', 'ingresses', { spec: { tls: [{}], rules: [{}, { host: 'a' }] } }).slice(
        1,
        5,
      ),
    ).toEqual(['<none>', 'a', '', '80, 443']);
  });

  it('[V34] nodes, volumes and access', () => {
    expect(
      cells('', 'nodes', {
        metadata: { labels: { 'node-role.kubernetes.io/worker': '', 'kubernetes.io/role': 'db' } },
        spec: { unschedulable: true },
        status: {
          conditions: [{ type: 'Ready', status: 'Unknown' }],
          addresses: [{ type: 'InternalIP', address: '10.0.0.9' }],
          nodeInfo: { kubeletVersion: 'v1.34.0', osImage: 'os' },
        },
      }),
    ).toEqual([
      'a',
      'NotReady,SchedulingDisabled',
      'db,worker',
      '90s',
      'v1.34.0',
      '10.0.0.9',
      '<none>',
      'os',
      '<unknown>',
      '<unknown>',
    ]);
    expect(
      cells('', 'persistentvolumeclaims', {
        spec: { volumeName: 'v', storageClassName: 's', volumeMode: 'Filesystem' },
        status: {
          phase: 'Bound',
          capacity: { storage: '1Gi' },
          accessModes: ['ReadWriteMany', 'ReadWriteOnce'],
        },
      }),
    ).toEqual(['a', 'Bound', 'v', '1Gi', 'RWO,RWX', 's', '<unset>', '90s', 'Filesystem']);
    expect(
      cells('rbac.authorization.k8s.io', 'rolebindings', {
        roleRef: { kind: 'Role', name: 'r' },
        subjects: [
          { kind: 'User', name: 'u' },
          { kind: 'User', name: 'v' },
          { kind: 'ServiceAccount', namespace: 'n', name: 's' },
        ],
      }).slice(1),
    ).toEqual(['Role/r', '90s', 'u, v', '', 'n/s']);
    expect(
      cells('certificates.k8s.io', 'certificatesigningrequests', {
        spec: { signerName: 's', username: 'u', expirationSeconds: 86400 },
        status: { certificate: 'x', conditions: [{ type: 'Approved' }] },
      }).slice(1),
    ).toEqual(['90s', 's', 'u', '24h', 'Approved,Issued']);
    expect(
      cells('', 'resourcequotas', {
        status: { hard: { pods: '5', 'limits.cpu': '2' }, used: { pods: '1' } },
      }).slice(2, 4),
    ).toEqual(['pods: 1/5', 'limits.cpu: 0/2']);
  });

  it('[V34] autoscalers in both versions', () => {
    const targets = (apiVersion: string, spec: object, status: object = {}) =>
      cells('autoscaling', 'horizontalpodautoscalers', { apiVersion, spec, status })[2];
    expect(
      targets(
        'autoscaling/v1',
        { targetCPUUtilizationPercentage: 80 },
        { currentCPUUtilizationPercentage: 12 },
      ),
    ).toBe('cpu: 12%/80%');
    const cpu = { type: 'Resource', resource: { name: 'cpu', target: { averageUtilization: 80 } } };
    const rate = { type: 'Pods', pods: { target: { averageValue: '10' } } };
    expect(
      targets(
        'autoscaling/v2',
        { metrics: [cpu, rate, rate] },
        { currentMetrics: [{ type: 'Resource', resource: { current: { averageUtilization: 5 } } }] },
      ),
    ).toBe('cpu: 5%/80%, <unknown>/10 + 1 more...');
    expect(targets('autoscaling/v2', {})).toBe('<none>');
  });

  it('[V34] events of both APIs', () => {
    expect(
      cells('', 'events', {
        involvedObject: { kind: 'Pod', name: 'p', fieldPath: 'spec.containers{c}' },
        firstTimestamp: ago(300),
        lastTimestamp: ago(60),
        count: 4,
        source: { component: 'kubelet', host: 'n1' },
        type: 'Warning',
        reason: 'BackOff',
        message: 'oh \n',
      }),
    ).toEqual([
      '60s',
      'Warning',
      'BackOff',
      'pod/p',
      'spec.containers{c}',
      'kubelet, n1',
      'oh',
      '5m',
      4,
      'a',
    ]);
    expect(
      cells('events.k8s.io', 'events', {
        apiVersion: 'events.k8s.io/v1',
        regarding: { kind: 'Pod', name: 'p' },
        eventTime: ago(300),
        series: { count: 9, lastObservedTime: ago(5) },
        reportingController: 'c',
        note: 'n',
      }),
    ).toEqual(['5s', '', '', 'pod/p', '', 'c', 'n', '5m', 9, 'a']);
  });
});

describe('printer columns of custom resources', () => {
  it('[V33] are Name and Age by default', () => {
    const printer = crdColumns(undefined);
    expect(printer.columns.map(({ name, type }) => [name, type])).toEqual([
      ['Name', 'string'],
      ['Age', 'date'],
    ]);
    expect(printer.cells(object({}), NOW)).toEqual(['a', '90s']);
  });

  it('[V33] show the first value that the path finds, by type', () => {
    const column = (name: string, type: string, jsonPath: string) => ({ name, type, jsonPath });
    const printer = crdColumns([
      { ...column('Str', 'string', '.spec.s'), description: 'a text', priority: 1, format: 'byte' },
      column('Int', 'integer', '.spec.i'),
      column('Num', 'number', '.spec.n'),
      column('Bool', 'boolean', '.spec.b'),
      column('Date', 'date', '.spec.d'),
      column('Names', 'string', '.spec.l[*].name'),
      column('Ready', 'string', '.status.conditions[?(@.type=="Ready")].status'),
      column('Obj', 'string', '.spec.o'),
      column('Wrong', 'integer', '.spec.s'),
      column('NoDate', 'date', '.spec.s'),
      column('Broken', 'string', '.spec['),
    ]);
    expect(printer.columns[1]).toEqual({
      name: 'Str',
      type: 'string',
      format: 'byte',
      description: 'a text',
      priority: 1,
    });
    expect(printer.columns[2]).toMatchObject({
      description: 'Custom resource definition column (in JSONPath format): .spec.i',
      priority: 0,
    });
    const full = object({
      spec: { s: 'x', i: 5, n: 1.5, b: true, d: ago(3600), l: [{ name: 'a' }, { name: 'b' }], o: { x: 'w' } },
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    });
    expect(printer.cells(full, NOW)).toEqual([
      'a',
      'x',
      5,
      1.5,
      true,
      '60m',
      'a',
      'True',
      '{"x":"w"}',
      null,
      '<invalid>',
    ]);
    // A path that nobody can read ends the table.
    expect(printer.columns.map(({ name }) => name)).not.toContain('Broken');
    expect(printer.cells(object({}), NOW).slice(1)).toEqual(Array(10).fill(null));
  });
});
