import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import { strategyFor, withoutPrivileged } from './index.ts';

const containers = [{ name: 'c', image: 'x', securityContext: { privileged: true } }];
const objectOf = (spec: unknown): KubeObject => ({ metadata: { name: 'a' }, spec }) as unknown as KubeObject;

describe('withoutPrivileged', () => {
  it.each([
    ['', 'pods', { containers }, 'spec'],
    ['apps', 'deployments', { template: { spec: { containers } } }, 'spec.template.spec'],
    [
      'batch',
      'cronjobs',
      { jobTemplate: { spec: { template: { spec: { containers } } } } },
      'spec.jobTemplate.spec.template.spec',
    ],
  ])('forbids privileged containers of %s %s', (group, resource, spec, path) => {
    const usual = strategyFor(group, resource);
    const object = objectOf(spec);
    const found = { type: 'Forbidden', path: `${path}.containers[0].securityContext.privileged` };
    const strict = withoutPrivileged(group, resource, usual);
    expect(strict.validate?.(object)).toContainEqual(expect.objectContaining(found));
    expect((strict.validateUpdate ?? strict.validate)?.(object, object)).toContainEqual(
      expect.objectContaining(found),
    );
    expect(usual.validate?.(object)).not.toContainEqual(expect.objectContaining(found));
  });

  it('forbids them where they are added to a pod that runs, too', () => {
    const strict = withoutPrivileged('', 'pods', strategyFor('', 'pods'));
    const pod = objectOf({ ephemeralContainers: containers });
    expect(strict.validateSubresourceUpdate?.('ephemeralcontainers', pod, objectOf({}))).toContainEqual(
      expect.objectContaining({ path: 'spec.ephemeralContainers[0].securityContext.privileged' }),
    );
    expect(strict.validateSubresourceUpdate?.('other', pod, pod)).toBeUndefined();
  });

  it('leaves other resources alone', () => {
    const usual = strategyFor('', 'configmaps');
    expect(withoutPrivileged('', 'configmaps', usual)).toBe(usual);
  });
});
