import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import { strategyFor } from '../builtins/index.ts';
import type { Resource } from '../resource.ts';
import { validateUpdate } from './validation.ts';

const deployments = {
  group: 'apps',
  kind: 'Deployment',
  custom: false,
  strategy: strategyFor('apps', 'deployments'),
  type: { schema: {}, resolve: () => undefined },
} as unknown as Resource;

/** As it may have been stored before there was a rule that it breaks. */
function stored(status: object): KubeObject {
  const labels = { app: 'a' };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'a', namespace: 'shop', uid: 'u', resourceVersion: '1' },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [] } },
    },
    status,
  } as KubeObject;
}

describe('updates of objects that break a rule', () => {
  it('may say how such an object is doing', () => {
    expect(() => validateUpdate(deployments, stored({ replicas: 1 }), stored({}), 'status')).not.toThrow();
    expect(() => validateUpdate(deployments, stored({ replicas: -1 }), stored({}), 'status')).toThrow(
      'status.replicas',
    );
  });

  it('may not leave it so', () => {
    expect(() => validateUpdate(deployments, stored({}), stored({}))).toThrow(
      'spec.template.spec.containers',
    );
  });
});
