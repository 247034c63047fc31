import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import { clone } from '../../schema/json.ts';
import { STRATEGY_NAMES } from './strategy-for.ts';
import { CONTEXT, strategyOf } from './testdata/write.ts';

const FIELDS = [
  'containers',
  'initContainers',
  'volumes',
  'template',
  'spec',
  'selector',
  'matchLabels',
  'matchExpressions',
  'ports',
  'port',
  'name',
  'resources',
  'limits',
  'requests',
  'cpu',
  'env',
  'valueFrom',
  'metadata',
  'labels',
  'strategy',
  'rollingUpdate',
  'maxSurge',
  'type',
  'clusterIP',
  'clusterIPs',
  'rules',
  'http',
  'paths',
  'backend',
  'webhooks',
  'clientConfig',
  'url',
  'subjects',
  'roleRef',
  'tolerations',
  'affinity',
  'schedule',
  'jobTemplate',
  'metrics',
  'hard',
  'constructor',
  'data',
  'stringData',
  'request',
  'usages',
  'hostNetwork',
  'securityContext',
  'serviceAccountName',
];

/** Objects whose fields have the names of real ones and values of any kind. */
const { node } = fc.letrec((tie) => ({
  node: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom(null, 0, -1, 70000, '', 'a', '50%', '1Gi', 'A b', true),
    fc.array(tie('node'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...FIELDS), tie('node'), { maxKeys: 4 }),
  ),
}));

describe('every strategy', () => {
  it('[V39] bears objects of any shape, and defaults them once and for all', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...STRATEGY_NAMES),
        fc.dictionary(
          fc.constantFrom('spec', 'status', 'template', 'data', 'rules', 'webhooks', 'subjects'),
          node,
        ),
        (name, fields) => {
          const strategy = strategyOf(name);
          const object = {
            ...clone(fields),
            apiVersion: 'v1',
            kind: 'Thing',
            metadata: { name: 'a', namespace: 'shop', uid: 'u' },
          } as unknown as KubeObject;
          strategy.defaults?.(object);
          const again = clone(object);
          strategy.defaults?.(again);
          expect(again).toEqual(object);
          strategy.prepareForCreate?.(object, CONTEXT);
          expect(Array.isArray(strategy.validate?.(object) ?? [])).toBe(true);
          const next = clone(object);
          strategy.prepareForUpdate?.(next, clone(object), CONTEXT);
          strategy.validateUpdate?.(next, object);
          strategy.prepareForStatusUpdate?.(next, object, CONTEXT);
          const labels = Object.keys(strategy.fieldLabels?.(object) ?? {}).sort();
          expect(labels).toEqual([...strategy.fieldLabelNames].sort());
        },
      ),
      { numRuns: 2000, seed: 7 },
    );
  });
});
