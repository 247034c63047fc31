import { describe, expect, it } from 'vitest';
import { startServer } from '../server.fixture.ts';

const PODS = '/api/v1/namespaces/default/pods';
const ACCOUNTS = '/api/v1/namespaces/default/serviceaccounts';
const MOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

function pod(name: string, spec: object = {}): object {
  return {
    metadata: { name },
    spec: { containers: [{ name: 'a', image: 'i' }], initContainers: [{ name: 'b', image: 'i' }], ...spec },
  };
}

describe('service accounts of pods', () => {
  it('[V56] are the default one, whose token every container finds', async () => {
    const { post } = await startServer();
    const { spec } = (await post(PODS, pod('p'))).body;
    expect(spec).toMatchObject({ serviceAccountName: 'default', serviceAccount: 'default' });
    const [volume] = spec.volumes;
    expect(volume.name).toMatch(/^kube-api-access-[a-z0-9]{5}$/);
    expect(volume.projected.sources.map((source: object) => Object.keys(source)[0])).toEqual([
      'serviceAccountToken',
      'configMap',
      'downwardAPI',
    ]);
    for (const container of [...spec.containers, ...spec.initContainers])
      expect(container.volumeMounts).toEqual([{ name: volume.name, mountPath: MOUNT, readOnly: true }]);
  });

  it('[V56] must exist', async () => {
    const { post } = await startServer();
    const refused = await post(PODS, pod('p', { serviceAccountName: 'bot' }));
    expect(refused.body).toMatchObject({
      code: 403,
      message:
        'pods "p" is forbidden: error looking up service account default/bot: serviceaccount "bot" not found',
    });
    await post(ACCOUNTS, { metadata: { name: 'bot' }, imagePullSecrets: [{ name: 'registry' }] });
    const { spec } = (await post(PODS, pod('p', { serviceAccountName: 'bot' }))).body;
    expect(spec.serviceAccount).toBe('bot');
    expect(spec.imagePullSecrets).toEqual([{ name: 'registry' }]);
    const own = { serviceAccountName: 'bot', imagePullSecrets: [{ name: 'mine' }] };
    expect((await post(PODS, pod('q', own))).body.spec.imagePullSecrets).toEqual([{ name: 'mine' }]);
  });

  it('[V56] keep their token from pods that want none; the pod has the last word', async () => {
    const { post } = await startServer();
    await post(ACCOUNTS, { metadata: { name: 'shy' }, automountServiceAccountToken: false });
    const volumes = async (name: string, spec: object) =>
      (await post(PODS, pod(name, spec))).body.spec.volumes;
    expect(await volumes('a', { automountServiceAccountToken: false })).toBeUndefined();
    expect(await volumes('b', { serviceAccountName: 'shy' })).toBeUndefined();
    expect(
      await volumes('c', { serviceAccountName: 'shy', automountServiceAccountToken: true }),
    ).toHaveLength(1);
    // Where somebody mounts something of their own, nothing is put over it.
    const own = [{ name: 'a', image: 'i', volumeMounts: [{ name: 'v', mountPath: MOUNT }] }];
    const custom = { containers: own, initContainers: [], volumes: [{ name: 'v', emptyDir: {} }] };
    expect(await volumes('d', custom)).toEqual([{ name: 'v', emptyDir: {} }]);
  });

  it('[V56] are left alone where the plugin is switched off', async () => {
    const { post } = await startServer({ disableAdmissionPlugins: ['ServiceAccount'] });
    const { spec } = (await post(PODS, pod('p'))).body;
    expect(spec.serviceAccountName).toBeUndefined();
    expect(spec.volumes).toBeUndefined();
    expect((await post(PODS, pod('q', { serviceAccountName: 'nobody' }))).status).toBe(201);
  });
});
