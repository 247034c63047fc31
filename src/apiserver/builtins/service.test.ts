import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import { hasCode } from '../../kube/status-error.ts';
import { clone, type JsonObject } from '../../schema/json.ts';
import { create, strategyOf, update } from './testdata/write.ts';

function service(spec: JsonObject = {}, name = 'cart'): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name },
    spec: { selector: { app: 'cart' }, ports: [{ port: 80 }], ...spec },
  };
}

type Ports = { ports: { nodePort?: number }[] };

describe('services', () => {
  it('[V39] get the defaults and the address of a real server', () => {
    const { object, errors } = create('services', service());
    expect(errors).toEqual([]);
    const { clusterIP } = object.spec as { clusterIP: string };
    expect(clusterIP).toMatch(/^10\.96\.\d+\.\d+$/);
    expect(object.spec).toEqual({
      clusterIP,
      clusterIPs: [clusterIP],
      internalTrafficPolicy: 'Cluster',
      ipFamilies: ['IPv4'],
      ipFamilyPolicy: 'SingleStack',
      ports: [{ port: 80, protocol: 'TCP', targetPort: 80 }],
      selector: { app: 'cart' },
      sessionAffinity: 'None',
      type: 'ClusterIP',
    });
    expect(object.status).toEqual({ loadBalancer: {} });
  });

  it('get the same address every time and never a taken one', () => {
    const first = create('services', service()).object;
    expect(create('services', service()).object).toEqual(first);
    const other = { ...clone(first), metadata: { name: 'other', namespace: 'shop' } };
    const second = create('services', service(), [other]).object;
    expect(second.spec).not.toHaveProperty('clusterIP', (first.spec as JsonObject).clusterIP);
  });

  it('get distinct node ports while there are any', () => {
    const others: KubeObject[] = [];
    const seen = new Set<number>();
    for (let i = 0; i < 200; i++) {
      const made = create('services', service({ type: 'NodePort' }, `s${i}`), others).object;
      const port = (made.spec as Ports).ports[0]!.nodePort!;
      expect(port).toBeGreaterThanOrEqual(30000);
      expect(port).toBeLessThanOrEqual(32767);
      seen.add(port);
      others.push(made);
    }
    expect(seen.size).toBe(200);
  });

  it('refuse an address or port that another service has', () => {
    const other = create('services', service({ type: 'NodePort' }, 'other')).object;
    const { clusterIP, ports } = other.spec as Ports & { clusterIP: string };
    expect(() => create('services', service({ clusterIP }), [other])).toThrow(
      `spec.clusterIPs: Invalid value: []string{"${clusterIP}"}: failed to allocate IP ${clusterIP}: provided IP is already allocated`,
    );
    try {
      create(
        'services',
        service({ type: 'NodePort', ports: [{ port: 80, nodePort: ports[0]!.nodePort! }] }),
        [other],
      );
      expect.unreachable();
    } catch (error) {
      expect(hasCode(error, 422)).toBe(true);
      expect(String(error)).toContain('provided port is already allocated');
    }
  });

  it('keep their address when a manifest without one replaces them', () => {
    const old = create('services', service({ type: 'NodePort' })).object;
    const { object, errors } = update(
      'services',
      service({ type: 'NodePort', sessionAffinity: 'ClientIP' }),
      old,
      [old],
    );
    expect(errors).toEqual([]);
    expect(object.spec).toEqual({
      ...(old.spec as JsonObject),
      sessionAffinity: 'ClientIP',
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 10800 } },
    });
  });

  it('give up what another type does not have, and do not change an address', () => {
    const old = create('services', service({ type: 'NodePort' })).object;
    const next = clone(old);
    (next.spec as JsonObject).type = 'ClusterIP';
    const changed = update('services', next, old).object.spec as Ports & JsonObject;
    expect(changed.ports[0]).not.toHaveProperty('nodePort');
    expect(changed).not.toHaveProperty('externalTrafficPolicy');
    const external = clone(old);
    Object.assign(external.spec as JsonObject, { type: 'ExternalName', externalName: 'x.example' });
    expect(update('services', external, old)).toMatchObject({ errors: [] });
    expect(update('services', external, old).object.spec).not.toHaveProperty('clusterIP');
    const moved = clone(old);
    (moved.spec as JsonObject).clusterIP = '10.96.9.9';
    expect(update('services', moved, old).errors).toEqual([
      'spec.clusterIPs[0]: Invalid value: []string{"10.96.9.9"}: may not change once set',
    ]);
  });

  it('[V39] are headless, external or balanced as asked', () => {
    expect(create('services', service({ clusterIP: 'None' })).object.spec).toMatchObject({
      clusterIP: 'None',
      clusterIPs: ['None'],
    });
    const { object } = create('services', {
      ...service(),
      spec: { type: 'ExternalName', externalName: 'db.example.com' },
    });
    expect(object.spec).toEqual({
      type: 'ExternalName',
      externalName: 'db.example.com',
      sessionAffinity: 'None',
    });
    expect(
      create('services', service({ type: 'LoadBalancer', externalTrafficPolicy: 'Local' })).object.spec,
    ).toMatchObject({
      allocateLoadBalancerNodePorts: true,
      ports: [{ nodePort: expect.any(Number) }],
      healthCheckNodePort: expect.any(Number),
    });
  });

  it('are refused with one error for each mistake', () => {
    expect(
      create(
        'services',
        service({ ports: [{ port: 0 }, { name: 'a', port: 80, nodePort: 30001, targetPort: 'Bad Name' }] }),
      ).errors,
    ).toEqual([
      'spec.ports[0].name: Required value',
      'spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive',
      'spec.ports[0].targetPort: Invalid value: 0: must be between 1 and 65535, inclusive',
      "spec.ports[1].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
      'spec.ports[1].targetPort: Invalid value: "Bad Name": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
    ]);
    expect(create('services', service({ ports: [] })).errors).toEqual(['spec.ports: Required value']);
    expect(create('services', service({}, '1st')).errors[0]).toContain('a DNS-1035 label must consist of');
  });

  it('[V12] may be made by PUT', () => {
    expect(strategyOf('services').allowCreateOnUpdate).toBe(true);
  });
});
