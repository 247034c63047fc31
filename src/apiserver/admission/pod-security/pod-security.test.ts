import { describe, expect, it } from 'vitest';
import { startServer } from '../../server.fixture.ts';

const NAMESPACE = '/api/v1/namespaces/default';
const PODS = `${NAMESPACE}/pods`;
const PREFIX = 'pod-security.kubernetes.io/';

type Labels = Record<string, string>;

async function labelled(labels: Labels) {
  const server = await startServer();
  return { ...server, response: await label(server, labels) };
}

async function label(server: Awaited<ReturnType<typeof startServer>>, labels: Labels) {
  const entries = Object.entries(labels).map(([key, value]) => [PREFIX + key, value]);
  return server.merge(NAMESPACE, { metadata: { labels: Object.fromEntries(entries) } });
}

function pod(name: string, spec: object = {}): object {
  return { metadata: { name }, spec: { containers: [{ name: 'a', image: 'i' }], ...spec } };
}

describe('pod security', () => {
  it('leaves namespaces without labels alone', async () => {
    const { post } = await startServer();
    expect((await post(PODS, pod('p', { hostNetwork: true }))).status).toBe(201);
  });

  it('refuses pods that the level of their namespace forbids, with all that is wrong', async () => {
    const { post } = await labelled({ enforce: 'baseline' });
    const wrong = await post(
      PODS,
      pod('p', {
        hostPID: true,
        containers: [
          { name: 'a', image: 'i', ports: [{ containerPort: 80, hostPort: 80 }] },
          { name: 'b', image: 'i', securityContext: { capabilities: { add: ['SYS_TIME', 'CHOWN'] } } },
        ],
      }),
    );
    expect([wrong.status, wrong.body.message]).toEqual([
      403,
      'pods "p" is forbidden: violates PodSecurity "baseline:latest": non-default capabilities (container "b" must not include "SYS_TIME" in securityContext.capabilities.add), host namespaces (hostPID=true), hostPort (container "a" uses hostPort 80)',
    ]);
    expect((await post(PODS, pod('p'))).status).toBe(201);
  });

  it('replaces checks of the baseline by stricter ones', async () => {
    const { post } = await labelled({ enforce: 'restricted' });
    const safe = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } };
    const context = { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } };
    const spec = {
      securityContext: context,
      containers: [{ name: 'a', image: 'i', securityContext: safe }],
    };
    expect((await post(PODS, pod('ok', spec))).status).toBe(201);
    const volumes = [{ name: 'v', hostPath: { path: '/' } }];
    expect((await post(PODS, pod('v', { ...spec, volumes }))).body.message).toContain(
      '"restricted:latest": restricted volume types (volume "v" uses restricted volume type "hostPath")',
    );
    expect((await post(PODS, pod('p'))).body.message).toContain(
      'runAsNonRoot != true (pod or container "a" must set securityContext.runAsNonRoot=true), seccompProfile (pod or container "a"',
    );
  });

  it('warns of pods and of templates, which it does not refuse', async () => {
    const { post } = await labelled({ warn: 'baseline', 'warn-version': 'v1.30' });
    const warning = 'would violate PodSecurity \\"baseline:v1.30\\": host namespaces (hostNetwork=true)';
    const template = {
      metadata: { labels: { a: 'b' } },
      spec: { hostNetwork: true, containers: [{ name: 'a', image: 'i' }] },
    };
    for (const [path, body] of [
      [PODS, pod('p', { hostNetwork: true })],
      [
        '/apis/apps/v1/namespaces/default/deployments',
        { metadata: { name: 'd' }, spec: { selector: { matchLabels: { a: 'b' } }, template } },
      ],
    ] as const) {
      const response = await post(path, body);
      expect(response.status).toBe(201);
      expect(response.headers.warning).toContain(warning);
    }
  });

  it('looks at containers that are added to a pod that runs', async () => {
    const server = await labelled({ enforce: 'baseline' });
    await server.post(PODS, pod('p'));
    const added = (privileged: boolean) =>
      server.merge(`${PODS}/p/ephemeralcontainers`, {
        spec: { ephemeralContainers: [{ name: 'e', image: 'i', securityContext: { privileged } }] },
      });
    expect((await added(true)).body.message).toContain('privileged (container "e" must not set');
    expect((await added(false)).status).toBe(200);
  });

  it('notes in the audit log what is only to be noted', async () => {
    const notes: unknown[] = [];
    const server = await startServer({ audit: ({ annotations }) => notes.push(annotations) });
    await label(server, { audit: 'baseline' });
    expect((await server.post(PODS, pod('p', { hostPID: true }))).status).toBe(201);
    expect(notes.at(-1)).toMatchObject({
      [`${PREFIX}audit-violations`]:
        'would violate PodSecurity "baseline:latest": host namespaces (hostPID=true)',
    });
  });

  it('refuses labels that mean nothing, and names pods that a stricter level would not let in', async () => {
    const server = await labelled({ enforce: 'everything', 'warn-version': '1.2' });
    expect(server.response.status).toBe(422);
    expect(server.response.body.details.causes).toHaveLength(2);
    for (const name of ['a', 'b']) await server.post(PODS, pod(name, { hostIPC: true }));
    const stricter = await label(server, { enforce: 'baseline' });
    expect(stricter.status).toBe(200);
    expect(stricter.headers.warning).toContain('a (and 1 other pod): host namespaces');
    expect((await label(server, { enforce: 'privileged' })).headers.warning).toBeUndefined();
  });

  it('lets pods that are there be changed in what does not concern it', async () => {
    const server = await startServer();
    await server.post(PODS, pod('p', { hostNetwork: true }));
    await label(server, { enforce: 'baseline' });
    const labels = await server.merge(`${PODS}/p`, { metadata: { labels: { a: 'b' } } });
    expect(labels.status).toBe(200);
    const change = [{ op: 'replace', path: '/spec/containers/0/image', value: 'j' }];
    const image = await server.call('PATCH', `${PODS}/p`, change, {
      'content-type': 'application/json-patch+json',
    });
    expect(image.status).toBe(403);
    const annotated = await server.merge(`${PODS}/p`, {
      metadata: { annotations: { 'net/ip': '10.0.0.1' } },
    });
    expect(annotated.status).toBe(200);
  });

  it('looks at how processes are shown, and at hosts that a node would be made to connect to', async () => {
    const spec = {
      containers: [
        {
          name: 'a',
          image: 'i',
          securityContext: { procMount: 'Unmasked' },
          livenessProbe: { httpGet: { port: 80, host: 'elsewhere' } },
          lifecycle: { preStop: { tcpSocket: { port: 80, host: '10.0.0.1' } } },
        },
      ],
    };
    const { post } = await labelled({ warn: 'baseline' });
    const warning = (await post(PODS, pod('p', spec))).headers.warning;
    expect(warning).toContain(
      'probe or lifecycle host (container \\"a\\" uses probe or lifecycle hosts \\"10.0.0.1\\", \\"elsewhere\\"), procMount (container \\"a\\" must not set securityContext.procMount to \\"Unmasked\\")',
    );
    // Releases before 1.34 let such hosts be.
    const older = await startServer({ emulatedVersion: '1.33' });
    await label(older, { warn: 'baseline' });
    const told = (await older.post(PODS, pod('p', spec))).headers.warning;
    expect(told).toContain('procMount');
    expect(told).not.toContain('probe or lifecycle host');
  });
});
