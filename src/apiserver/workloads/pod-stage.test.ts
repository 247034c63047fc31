import { expect, it } from 'vitest';
import type { Pod } from './kinds.ts';
import { nextStage, type Surroundings } from './pod-stage.ts';
import { behaviourOf } from './simulation.ts';

it('starts ephemeral containers beside those that run, once', () => {
  const around: Surroundings = { node: 'ready', hostIP: '10.0.0.1', podIP: () => '10.1.0.1', now: 0 };
  const pod: Pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p' },
    spec: { nodeName: 'node', containers: [{ name: 'main', image: 'i' }] },
  };
  const settle = (): void => {
    for (let stage = next(); stage !== undefined; stage = next()) pod.status = stage.status?.() ?? {};
  };
  const next = (): ReturnType<typeof nextStage> => nextStage(pod, behaviourOf(pod, false), around);
  settle();
  expect(pod.status?.phase).toBe('Running');
  pod.spec.ephemeralContainers = [{ name: 'debugger', image: 'busybox' }];
  expect(next()?.name).toBe('ephemeral-debugger');
  settle();
  expect(pod.status?.ephemeralContainerStatuses).toMatchObject([
    { name: 'debugger', image: 'busybox', ready: false, state: { running: {} } },
  ]);
  expect(pod.status?.containerStatuses).toHaveLength(1);
});
