import { describe, expect, it } from 'vitest';
import { startServer } from '../server.fixture.ts';

const CLASSES = '/apis/storage.k8s.io/v1/storageclasses';
const CLAIMS = '/api/v1/namespaces/default/persistentvolumeclaims';
const INGRESS_CLASSES = '/apis/networking.k8s.io/v1/ingressclasses';
const INGRESSES = '/apis/networking.k8s.io/v1/namespaces/default/ingresses';

function claim(name: string, more: object = {}, annotations: Record<string, string> = {}): object {
  const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...more };
  return { metadata: { name, annotations }, spec };
}

describe('default classes', () => {
  it('are given to claims that name none', async () => {
    const { post } = await startServer();
    expect((await post(CLAIMS, claim('early'))).body.spec).not.toHaveProperty('storageClassName');
    const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' };
    await post(CLASSES, { metadata: { name: 'fast', annotations }, provisioner: 'p' });
    await post(CLASSES, { metadata: { name: 'slow' }, provisioner: 'p' });
    expect((await post(CLAIMS, claim('a'))).body.spec.storageClassName).toBe('fast');
    expect((await post(CLAIMS, claim('b', { storageClassName: '' }))).body.spec.storageClassName).toBe('');
    const old = claim('c', {}, { 'volume.beta.kubernetes.io/storage-class': 'x' });
    expect((await post(CLAIMS, old)).body.spec).not.toHaveProperty('storageClassName');
  });

  it('are given to ingresses that name none, in either way', async () => {
    const { post } = await startServer();
    const annotations = { 'ingressclass.kubernetes.io/is-default-class': 'true' };
    await post(INGRESS_CLASSES, { metadata: { name: 'web', annotations }, spec: { controller: 'e.com/c' } });
    const spec = { defaultBackend: { service: { name: 's', port: { number: 80 } } } };
    const ingress = (name: string, more: object = {}, marks: object = {}) =>
      post(INGRESSES, { metadata: { name, annotations: marks }, spec: { ...spec, ...more } });
    expect((await ingress('a')).body.spec.ingressClassName).toBe('web');
    const named = { 'kubernetes.io/ingress.class': 'x' };
    const old = await ingress('b', {}, named);
    expect(old.body.spec).not.toHaveProperty('ingressClassName');
    const both = await ingress('c', { ingressClassName: 'y' }, named);
    expect([both.status, both.body.details.causes[0].field]).toEqual([
      422,
      'annotations.kubernetes.io/ingress.class',
    ]);
  });
});
