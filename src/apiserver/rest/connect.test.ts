import { afterEach, describe, expect, it } from 'vitest';
import { type Fixture, startServer } from '../server.fixture.ts';

const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
const PODS = '/api/v1/namespaces/default/pods';

const open: Fixture[] = [];
afterEach(async () => {
  for (const fixture of open.splice(0)) await fixture.server.close();
});

async function withPod(callWebhook?: (review: unknown) => unknown): Promise<Fixture> {
  const fixture = await startServer({
    controllers: false,
    ...(callWebhook === undefined
      ? {}
      : {
          callWebhook: async (_target, body) => ({
            status: 200,
            body: Buffer.from(JSON.stringify(callWebhook(JSON.parse(Buffer.from(body).toString())))),
          }),
        }),
  });
  open.push(fixture);
  const made = await fixture.post(PODS, {
    metadata: { name: 'web', labels: { app: 'web' } },
    spec: { containers: [{ name: 'main', image: 'web' }] },
  });
  expect(made.status).toBe(201);
  return fixture;
}

describe('a conversation with a pod', () => {
  it('[V52] is shown to webhooks as the operation CONNECT, and refused where they refuse', async () => {
    const reviews: { request: Record<string, unknown> }[] = [];
    const { get, post } = await withPod((review) => {
      const asked = review as { request: Record<string, unknown> };
      reviews.push(asked);
      const response = { uid: asked.request.uid, allowed: false, status: { message: 'no shells here' } };
      return { kind: 'AdmissionReview', apiVersion: 'admission.k8s.io/v1', response };
    });
    await post(`${ADMISSION}/validatingwebhookconfigurations`, {
      metadata: { name: 'shells' },
      webhooks: [
        {
          name: 'shells.example.com',
          clientConfig: { url: 'https://shells/' },
          rules: [
            { apiGroups: [''], apiVersions: ['v1'], resources: ['pods/exec'], operations: ['CONNECT'] },
          ],
          admissionReviewVersions: ['v1'],
          sideEffects: 'None',
        },
      ],
    });
    const refused = await get(`${PODS}/web/exec?command=sh&command=-c&container=main&stdin=true&tty=false`);
    expect(refused.status).toBe(400);
    expect(refused.body.message).toContain('denied the request: no shells here');
    expect(reviews).toHaveLength(1);
    expect(reviews[0]?.request).toMatchObject({
      operation: 'CONNECT',
      kind: { group: '', version: 'v1', kind: 'PodExecOptions' },
      resource: { group: '', version: 'v1', resource: 'pods' },
      subResource: 'exec',
      name: 'web',
      namespace: 'default',
      object: {
        kind: 'PodExecOptions',
        apiVersion: 'v1',
        command: ['sh', '-c'],
        container: 'main',
        stdin: true,
      },
      oldObject: null,
      options: null,
    });
    expect(reviews[0]?.request.object).not.toHaveProperty('tty');
    // Nobody is concerned by other ones.
    expect((await get(`${PODS}/web/log`)).status).not.toBe(403);
    await get(`${PODS}/web/attach?stdin=true`);
    expect(reviews).toHaveLength(1);
  });

  it('[V53] is judged by policies', async () => {
    const { get, post } = await withPod();
    await post(`${ADMISSION}/validatingadmissionpolicies`, {
      metadata: { name: 'no-root-shell' },
      spec: {
        matchConstraints: {
          resourceRules: [
            { apiGroups: [''], apiVersions: ['v1'], resources: ['pods/exec'], operations: ['CONNECT'] },
          ],
        },
        validations: [
          { expression: "request.operation == 'CONNECT' && !('sh' in object.command)", message: 'no shells' },
        ],
      },
    });
    await post(`${ADMISSION}/validatingadmissionpolicybindings`, {
      metadata: { name: 'no-root-shell' },
      spec: { policyName: 'no-root-shell', validationActions: ['Deny'] },
    });
    const refused = await get(`${PODS}/web/exec?command=sh`);
    expect(refused.status).toBe(422);
    expect(refused.body.message).toContain('denied request: no shells');
    const passed = await get(`${PODS}/web/exec?command=ls`);
    expect(passed.body.message ?? '').not.toContain('no shells');
  });
});
