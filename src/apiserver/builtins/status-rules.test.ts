import { describe, expect, it } from 'vitest';
import { asObject } from '../../kube/object.ts';
import type { JsonObject } from '../../schema/json.ts';
import { strategyFor } from './strategy-for.ts';

/** What is said of a write of the status, `path: detail`. */
function told(group: string, resource: string, status: JsonObject, before: JsonObject = {}): string[] {
  const holding = (given: JsonObject): ReturnType<typeof asObject> =>
    asObject({ apiVersion: 'v1', kind: 'K', metadata: { name: 'a' }, spec: {}, status: given });
  const problems =
    strategyFor(group, resource).validateStatusUpdate?.(holding(status), holding(before)) ?? [];
  return problems.map(({ path, detail }) => `${path}: ${detail}`);
}

const TRUE = { status: 'True' };

describe('writes of a status', () => {
  it('count no more parts than there are replicas', () => {
    expect(told('apps', 'replicasets', { replicas: 2, readyReplicas: 3, observedGeneration: -1 })).toEqual([
      'status.observedGeneration: must be greater than or equal to 0',
      'status.readyReplicas: cannot be greater than status.replicas',
    ]);
    expect(told('apps', 'statefulsets', { replicas: 2, availableReplicas: 1 })).toEqual([
      'status.availableReplicas: cannot be greater than status.readyReplicas',
    ]);
    expect(told('apps', 'daemonsets', { numberReady: -1 })).toHaveLength(1);
  });

  it('bring a Job to its end in order, and once', () => {
    const done = {
      startTime: '2020-01-01T00:00:00Z',
      completionTime: '2020-01-01T00:01:00Z',
      succeeded: 1,
      conditions: [
        { type: 'SuccessCriteriaMet', ...TRUE },
        { type: 'Complete', ...TRUE },
      ],
    };
    expect(told('batch', 'jobs', done)).toEqual([]);
    expect(told('batch', 'jobs', { conditions: [{ type: 'Failed', ...TRUE }] })).toEqual([
      'status.conditions: cannot set Failed=True condition without the FailureTarget=true condition',
      'status.startTime: startTime is required for finished job',
    ]);
    expect(told('batch', 'jobs', { ...done, succeeded: 0 }, done)).toEqual([
      'status.succeeded: cannot decrease the succeeded counter',
    ]);
    expect(told('batch', 'jobs', {}, done)).toContain(
      'status.conditions: cannot disable the terminal Complete=True condition',
    );
  });

  it('tell one address of each family, and leave the class of a pod alone', () => {
    expect(told('', 'pods', { podIPs: [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }] })).toEqual([]);
    expect(told('', 'pods', { podIPs: [{ ip: '10.0.0.1' }, { ip: '10.0.0.2' }] })).toEqual([
      'status.podIPs: may specify no more than one IP for each IP family',
    ]);
    expect(told('', 'pods', { hostIP: '1.2.3.4', hostIPs: [{ ip: '1.2.3.5' }] })).toEqual([
      'status.hostIPs[0].ip: must be equal to `hostIP`',
    ]);
    expect(told('', 'pods', { qosClass: 'Burstable' }, { qosClass: 'BestEffort' })).toHaveLength(1);
  });

  it('let only those containers of a pod begin anew that may', () => {
    const container = (state: JsonObject): JsonObject => ({ containerStatuses: [{ name: 'c', state }] });
    const changed = (own: JsonObject): string[] => {
      const holding = (status: JsonObject): ReturnType<typeof asObject> => {
        const spec = { restartPolicy: 'Never', containers: [{ name: 'c', ...own }] };
        return asObject({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, spec, status });
      };
      const [now, before] = [container({ running: {} }), container({ terminated: { exitCode: 1 } })];
      const problems = strategyFor('', 'pods').validateStatusUpdate?.(holding(now), holding(before)) ?? [];
      return problems.map(({ path }) => path);
    };
    expect(changed({})).toEqual(['status.containerStatuses[0].state']);
    expect(changed({ restartPolicy: 'Always' })).toEqual([]);
  });

  it('have sound conditions, phases and addresses of balancers', () => {
    expect(told('policy', 'poddisruptionbudgets', { conditions: [{ type: 'A', status: 'Maybe' }] })).toEqual([
      'status.conditions[0].status: ',
      'status.conditions[0].lastTransitionTime: must be set',
      'status.conditions[0].reason: must be set',
    ]);
    expect(told('', 'namespaces', { phase: 'Terminating' })).toEqual([
      "status.Phase: may only be 'Active' if `deletionTimestamp` is empty",
    ]);
    const balancer = { loadBalancer: { ingress: [{ ip: 'x' }, { hostname: '1.2.3.4' }] } };
    // One that is no balancer is nowhere to be found.
    expect(told('', 'services', balancer)).toHaveLength(3);
    expect(told('networking.k8s.io', 'ingresses', balancer)).toHaveLength(2);
  });
});
