import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import type { ResourceRuleSpec } from './kind.ts';
import { compileRule, createRuleBook } from './rule-book.ts';

const rollout = (status: object, metadata: object = {}): KubeObject => ({
  apiVersion: 'argoproj.io/v1alpha1',
  kind: 'Rollout',
  metadata: { name: 'r', ...metadata },
  status,
});

const SPEC: ResourceRuleSpec = {
  target: { group: 'argoproj.io', kind: 'Rollout' },
  replicasPath: 'spec.replicas',
  fields: [{ path: '/spec/pause', direction: 'InitialOnly' }],
  health: [
    { state: 'Healthy', expression: "object.status.phase == 'Healthy'" },
    {
      state: 'Degraded',
      reason: 'Aborted',
      expression: "object.status.phase == 'Degraded'",
      message: "'step ' + string(object.status.step)",
    },
  ],
};

describe('a rule of a kind', () => {
  it('tells health by the first expression that is true, and nothing where none is', () => {
    const { rule } = compileRule(SPEC);
    expect(rule?.health?.(rollout({ phase: 'Healthy' }))).toMatchObject({ state: 'Healthy' });
    expect(rule?.health?.(rollout({ phase: 'Degraded', step: 2 }))).toEqual({
      state: 'Degraded',
      reason: 'Aborted',
      message: 'step 2',
    });
    expect(rule?.health?.(rollout({ phase: 'Paused' }))).toBeUndefined();
    expect(rule?.health?.(rollout({}))).toBeUndefined();
    expect(
      rule?.health?.(rollout({ phase: 'Healthy', observedGeneration: 1 }, { generation: 2 })),
    ).toMatchObject({
      reason: 'NotObserved',
    });
  });

  it('ends an expression that costs too much', () => {
    const { rule } = compileRule({
      ...SPEC,
      health: [
        {
          state: 'Healthy',
          expression: 'object.status.list.all(a, object.status.list.all(b, object.status.list.all(c, true)))',
        },
      ],
    });
    const list = Array.from({ length: 200 }, (_, index) => index);
    expect(rule?.health?.(rollout({ list }))).toMatchObject({ state: 'Unknown', reason: 'RuleTooCostly' });
  });

  it('says what is wrong with it, with its place', () => {
    const { problems } = compileRule({
      target: { kind: 'Rollout' },
      replicasPath: 'spec[',
      fields: [{ path: 'status.x', direction: 'Up' }],
      health: [
        { state: 'Healthy', expression: 'object.' },
        { state: 'Healthy', expression: '1 + 1' },
      ],
    });
    expect(problems?.map((problem) => problem.split(':')[0])).toEqual([
      'spec.replicasPath',
      'spec.fields[0].path',
      'spec.health[0].expression',
      'spec.health[1].expression',
    ]);
  });
});

describe('a book of rules', () => {
  it('finds a rule by group and kind, in every version; the first name holds', () => {
    const book = createRuleBook();
    expect(book.of(rollout({}))).toBeUndefined();
    book.set('b', { ...SPEC, replicasPath: 'spec.size' });
    book.set('a', SPEC);
    expect(book.of(rollout({}))?.replicas).toEqual(['spec', 'replicas']);
    book.set('a', undefined);
    expect(book.of({ apiVersion: 'argoproj.io/v1', kind: 'Rollout' })?.replicas).toEqual(['spec', 'size']);
    expect(book.set('b', { ...SPEC, replicasPath: 'spec[' })).toHaveLength(1);
    expect(book.of(rollout({}))).toBeUndefined();
  });
});
