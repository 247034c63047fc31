import { expect, it } from 'vitest';
import { startServer } from '../server.fixture.ts';
import { syncAppArmor } from './app-armor.ts';

const PODS = '/api/v1/namespaces/default/pods';
const KEY = 'container.apparmor.security.beta.kubernetes.io/c';

function podWith(spec: Record<string, unknown>, annotations?: Record<string, string>) {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', ...(annotations ? { annotations } : {}) },
    spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
  };
}

it('annotates the containers that a profile is for', () => {
  const pod = podWith({ securityContext: { appArmorProfile: { type: 'Localhost', localhostProfile: 'x' } } });
  const said: string[] = [];
  syncAppArmor(pod, (text) => said.push(text));
  expect(pod.metadata.annotations).toEqual({ [KEY]: 'localhost/x' });
  expect(said).toEqual([]);
});

it('reads the field from an annotation, and tells of it', () => {
  const pod = podWith({}, { [KEY]: 'runtime/default' });
  const said: string[] = [];
  syncAppArmor(pod, (text) => said.push(text));
  expect(pod.spec).toEqual({
    containers: [{ name: 'c', image: 'i', securityContext: { appArmorProfile: { type: 'RuntimeDefault' } } }],
  });
  expect(said).toEqual([
    `metadata.annotations[${KEY}]: deprecated since v1.30; use the "appArmorProfile" field instead`,
  ]);
});

it('leaves alone what cannot be read, and pods of Windows', () => {
  const odd = podWith({}, { [KEY]: 'nonsense' });
  const said: string[] = [];
  syncAppArmor(odd, (text) => said.push(text));
  expect(odd.spec.containers).toEqual([{ name: 'c', image: 'i' }]);
  expect(said).toHaveLength(1);
  const windows = podWith({
    os: { name: 'windows' },
    securityContext: { appArmorProfile: { type: 'Unconfined' } },
  });
  syncAppArmor(windows, () => {});
  expect(windows.metadata).toEqual({ name: 'p' });
});

it('tells of annotations that do nothing, of templates too', async () => {
  const { post } = await startServer();
  const annotations = { 'seccomp.security.alpha.kubernetes.io/pod': 'unconfined', [KEY]: 'unconfined' };
  const made = await post('/apis/apps/v1/namespaces/default/deployments', {
    metadata: { name: 'd' },
    spec: {
      selector: { matchLabels: { a: 'b' } },
      template: { ...podWith({}), metadata: { labels: { a: 'b' }, annotations } },
    },
  });
  const at = 'spec.template.metadata.annotations';
  expect(made.headers.warning).toContain(`${at}[seccomp.security.alpha.kubernetes.io/pod]: non-functional`);
  expect(made.headers.warning).toContain(`${at}[${KEY}]: deprecated since v1.30`);
});

it('warns before admission refuses', async () => {
  const { post, merge } = await startServer();
  const enforce = { 'pod-security.kubernetes.io/enforce': 'baseline' };
  await merge('/api/v1/namespaces/default', { metadata: { labels: enforce } });
  const refused = await post(PODS, podWith({}, { [KEY]: 'unconfined' }));
  expect(refused.body.message).toContain(
    `forbidden AppArmor profiles (container "c" and annotation must not set AppArmor profile type to "Unconfined", "${KEY}="unconfined"")`,
  );
  expect(refused.headers.warning).toContain('deprecated since v1.30');
});
