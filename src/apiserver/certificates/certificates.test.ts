import { X509Certificate } from 'node:crypto';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { createCertificateAuthority, isSignedBy, type KeyPair } from '../../kube/pki.ts';
import { signingRequest } from '../../kube/signing-request.ts';
import { type VirtualRuntime, virtualRuntime } from '../../runtime/index.ts';
import { type Fixture, fixtureOf, startServer } from '../server.fixture.ts';
import { RequestError, requestContents } from './index.ts';

const REQUESTS = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const CLIENT = 'kubernetes.io/kube-apiserver-client';
const KUBELET = 'kubernetes.io/kube-apiserver-client-kubelet';
const HOUR = 3_600_000;

/** A request for subject alternative names of every kind, as openssl writes it. */
const WITH_NAMES = `-----BEGIN CERTIFICATE REQUEST-----
MIIBQjCB6QIBADAwMRUwEwYDVQQKDAxzeXN0ZW06bm9kZXMxFzAVBgNVBAMMDnN5c3RlbTpub2RlOm4xMFkwEwYHKoZIzj0C
AQYIKoZIzj0DAQcDQgAEM3Zq1fOcWvpkuWAFe0l8Pt2WKkTyjMOCi9xHgwga47946ANg6zRinr+eu+iImKv7p63StRy5eujB
g2ct1btcuKBXMFUGCSqGSIb3DQEJDjFIMEYwRAYDVR0RBD0wO4IMbm9kZS5leGFtcGxlhwQKAAAHhxD9AAAAAAAAAAAAAAAA
AAABgQVhQGIuY4YMc3BpZmZlOi8veC95MAoGCCqGSM49BAMCA0gAMEUCIQC6UlxJgpgd+RpcH4eJDXlyi3TMxpdC8YI2sFHF
As3HKgIgOggaZQOcR9f28yWi5mcEQpdZS8cjuEOd/Xa9yzTy/Xw=
-----END CERTIFICATE REQUEST-----
`;

let clientCa: KeyPair;
beforeAll(async () => {
  clientCa = await createCertificateAuthority(virtualRuntime(7), 'clients');
});

function pem(commonName: string, ...organizations: string[]): string {
  return signingRequest({ commonName, organizations }).request;
}

function body(name: string, request: string, spec: object = {}): object {
  return {
    metadata: { name },
    spec: {
      request: Buffer.from(request).toString('base64'),
      signerName: CLIENT,
      usages: ['digital signature', 'client auth'],
      ...spec,
    },
  };
}

/** Loading the certificate library and signing take real time, which the virtual clock knows nothing of. */
async function until(runtime: VirtualRuntime, done: () => Promise<boolean>): Promise<void> {
  for (let turn = 0; turn < 2000; turn++) {
    if (await done()) return;
    await runtime.clock.settle();
  }
  throw new Error('it did not come to pass');
}

const decision = (type: string) => ({
  status: { conditions: [{ type, status: 'True', reason: 'Test', message: '' }] },
});

async function settled(fixture: Fixture, name: string): Promise<Record<string, never>> {
  let status: Record<string, never> = {};
  await until(fixture.runtime, async () => {
    status = (await fixture.get(`${REQUESTS}/${name}`)).body.status;
    return status.certificate !== undefined || JSON.stringify(status).includes('Failed');
  });
  return status;
}

describe('certificate signing requests', () => {
  it('[V65] are signed after their approval, for the subject and the time that they ask for', async () => {
    const fixture = await startServer({ clientCa });
    const { post, merge, runtime } = fixture;
    await post(REQUESTS, body('jane', pem('jane', 'dev', 'ops'), { expirationSeconds: 3600 }));
    expect((await fixture.get(`${REQUESTS}/jane`)).body.status).toEqual({});
    await merge(`${REQUESTS}/jane/approval`, decision('Approved'));
    const { certificate, conditions } = await settled(fixture, 'jane');
    expect(conditions).toMatchObject([{ type: 'Approved', lastUpdateTime: '2026-01-01T00:00:00Z' }]);
    const text = Buffer.from(certificate as unknown as string, 'base64').toString();
    expect(isSignedBy(text, clientCa.certificate)).toBe(true);
    const issued = new X509Certificate(text);
    expect(issued.subject.split('\n')).toEqual(['O=dev', 'O=ops', 'CN=jane']);
    expect(issued.validToDate.getTime()).toBe(runtime.clock.now() + HOUR);
    expect(issued.validFromDate.getTime()).toBe(runtime.clock.now() - 300_000);
    expect(issued.keyUsage).toEqual(['1.3.6.1.5.5.7.3.2']);
    // What was issued stays.
    const again = await merge(`${REQUESTS}/jane/status`, { status: { certificate: 'YWJj' } });
    expect(again.status).toBe(422);
  });

  it('[V65] are not signed without approval, after denial, for other signers, or without an authority', async () => {
    const fixture = await startServer({ clientCa });
    const { post, merge, get, runtime } = fixture;
    await post(REQUESTS, body('waits', pem('a')));
    await post(REQUESTS, body('denied', pem('a')));
    await merge(`${REQUESTS}/denied/approval`, decision('Denied'));
    await post(REQUESTS, body('other', pem('a'), { signerName: 'example.com/own' }));
    await merge(`${REQUESTS}/other/approval`, decision('Approved'));
    const lone = await startServer();
    await lone.post(REQUESTS, body('lone', pem('a')));
    await lone.merge(`${REQUESTS}/lone/approval`, decision('Approved'));
    await runtime.clock.advance(1000);
    await lone.runtime.clock.advance(1000);
    for (const name of ['waits', 'denied', 'other'])
      expect((await get(`${REQUESTS}/${name}`)).body.status.certificate, name).toBeUndefined();
    expect((await lone.get(`${REQUESTS}/lone`)).body.status.certificate).toBeUndefined();
  });

  it('[V65] of another logical cluster are not signed: all of them believe the authority', async () => {
    const { server, runtime, post, merge, get } = await startServer({ clientCa });
    const created = server.createCluster('red');
    await runtime.clock.settle();
    await created;
    await post(`/clusters/red${REQUESTS}`, body('x', pem('root-admin')));
    await merge(`/clusters/red${REQUESTS}/x/approval`, decision('Approved'));
    await runtime.clock.advance(60_000);
    expect((await get(`/clusters/red${REQUESTS}/x`)).body.status.certificate).toBeUndefined();
  });

  it('[V65] that break the rules of their signer fail, and say why', async () => {
    const fixture = await startServer({ clientCa });
    const cases: [string, string, object, string][] = [
      ['usage', pem('a'), { usages: ['server auth'] }, 'client auth'],
      ['node', pem('jane', 'system:nodes'), { signerName: KUBELET }, 'system:node:'],
      ['group', pem('system:node:n1', 'dev'), { signerName: KUBELET }, 'system:nodes'],
      ['masters', pem('system:node:n1', 'system:masters'), { signerName: KUBELET }, 'system:masters'],
      ['nameless', pem(''), {}, 'common name'],
      [
        'serving',
        pem('system:node:n1', 'system:nodes'),
        { signerName: 'kubernetes.io/kubelet-serving', usages: ['digital signature', 'server auth'] },
        'needs a DNS name',
      ],
    ];
    for (const [name, request, spec, why] of cases) {
      expect((await fixture.post(REQUESTS, body(name, request, spec))).status, name).toBe(201);
      await fixture.merge(`${REQUESTS}/${name}/approval`, decision('Approved'));
      const { conditions, certificate } = await settled(fixture, name);
      expect(certificate, name).toBeUndefined();
      expect(conditions, name).toMatchObject([
        { type: 'Approved' },
        { type: 'Failed', reason: 'SignerValidationFailure', message: expect.stringContaining(why) },
      ]);
    }
  });

  it('[V65] of kubelets are approved for whoever may ask for them, and for nobody else', async () => {
    const fixture = await startServer({ clientCa });
    const { server, runtime, post, get } = fixture;
    const bind = (name: string, role: string, subject: object) =>
      post(`${RBAC}/clusterrolebindings`, {
        metadata: { name },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', ...subject }],
      });
    const approval = 'system:certificates.k8s.io:certificatesigningrequests';
    await bind('asks', 'system:node-bootstrapper', { kind: 'Group', name: 'system:bootstrappers' });
    await bind('gets', `${approval}:nodeclient`, { kind: 'User', name: 'system:bootstrap:good' });
    await bind('renews', `${approval}:selfnodeclient`, { kind: 'Group', name: 'system:nodes' });
    await bind('nodes', 'system:node-bootstrapper', { kind: 'Group', name: 'system:nodes' });
    const ask = async (name: string, user: string, group: string, node: string, spec: object = {}) => {
      const client = fixtureOf(runtime, server, server.as({ name: user, groups: [group] }));
      const request = pem(`system:node:${node}`, 'system:nodes');
      const made = await client.post(REQUESTS, body(name, request, { signerName: KUBELET, ...spec }));
      expect(made.status, made.text).toBe(201);
      expect(made.body.spec.username).toBe(user);
    };
    await ask('good', 'system:bootstrap:good', 'system:bootstrappers', 'n1');
    await ask('poor', 'system:bootstrap:poor', 'system:bootstrappers', 'n1');
    await ask('own', 'system:node:n2', 'system:nodes', 'n2');
    await ask('foreign', 'system:node:n2', 'system:nodes', 'n3');
    await ask('odd', 'system:bootstrap:good', 'system:bootstrappers', 'n1', { usages: ['client auth'] });
    expect((await settled(fixture, 'good')).certificate).toBeDefined();
    const own = await settled(fixture, 'own');
    expect(own.conditions).toMatchObject([{ type: 'Approved', reason: 'AutoApproved' }]);
    for (const name of ['poor', 'foreign', 'odd'])
      expect((await get(`${REQUESTS}/${name}`)).body.status, name).toEqual({});
  });

  it('[V65] are approved and signed by holders of the verb for the signer only', async () => {
    const fixture = await startServer();
    const { server, runtime, post } = fixture;
    const client = fixtureOf(runtime, server, server.as({ name: 'clerk', groups: [] }));
    const rules = (verbs: string[], resourceNames: string[]) => [
      {
        apiGroups: ['certificates.k8s.io'],
        resources: ['certificatesigningrequests/approval', 'certificatesigningrequests/status'],
        verbs: ['update', 'patch'],
      },
      { apiGroups: ['certificates.k8s.io'], resources: ['signers'], verbs, resourceNames },
    ];
    await post(`${RBAC}/clusterroles`, {
      metadata: { name: 'clerk' },
      rules: rules(['approve'], ['other.com/x']),
    });
    await post(`${RBAC}/clusterrolebindings`, {
      metadata: { name: 'clerk' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'clerk' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'clerk' }],
    });
    await post(REQUESTS, body('r', pem('a'), { signerName: 'example.com/own' }));
    const approve = () => client.merge(`${REQUESTS}/r/approval`, decision('Approved'));
    expect((await approve()).body).toMatchObject({
      code: 403,
      message:
        'certificatesigningrequests.certificates.k8s.io "r" is forbidden: user not permitted to approve requests with signerName "example.com/own"',
    });
    const certificate = Buffer.from(clientCa.certificate).toString('base64');
    const sign = () => client.merge(`${REQUESTS}/r/status`, { status: { certificate } });
    expect((await sign()).body.message).toContain('user not permitted to sign requests');
    await fixture.merge(`${RBAC}/clusterroles/clerk`, {
      rules: rules(['approve', 'sign'], ['example.com/*']),
    });
    expect((await approve()).status).toBe(200);
    expect((await sign()).status).toBe(200);
  });

  it('[V65] keep what was decided, and take conditions where they belong only', async () => {
    const { post, merge, get } = await startServer({ controllers: false });
    await post(REQUESTS, body('r', pem('a'), { signerName: 'example.com/own', username: 'forged' }));
    expect((await get(`${REQUESTS}/r`)).body.spec.username).toBe('admin');
    const causes = async (path: string, patch: object) =>
      ((await merge(`${REQUESTS}/r${path}`, patch)).body.details?.causes ?? []).map(
        ({ field, message }: { field: string; message: string }) => `${field}: ${message}`,
      );
    // Decisions are made in one place.
    expect((await merge(`${REQUESTS}/r`, decision('Approved'))).body.status).toEqual({});
    expect(await causes('/status', decision('Approved'))).toEqual([
      'status.conditions: Forbidden: updates may not add a condition of type "Approved"',
    ]);
    expect(
      await causes('/approval', { status: { conditions: [{ type: 'Denied', status: 'False' }] } }),
    ).toEqual(['status.conditions[0].status: Unsupported value: "False": supported values: "True"']);
    const approved = await merge(`${REQUESTS}/r/approval`, {
      ...decision('Approved'),
      spec: { usages: ['server auth'] },
    });
    expect(approved.body.spec.usages).toEqual(['digital signature', 'client auth']);
    expect(await causes('/approval', { status: { conditions: [] } })).toEqual([
      'status.conditions: Forbidden: updates may not remove a condition of type "Approved"',
    ]);
    const both = [...decision('Approved').status.conditions, ...decision('Denied').status.conditions];
    expect(await causes('/approval', { status: { conditions: both } })).toEqual([
      'status.conditions[1].type: Invalid value: "Denied": Approved and Denied conditions are mutually exclusive',
    ]);
    expect(await causes('/status', { status: { certificate: 'YWJj' } })).toEqual([
      'status.certificate: Invalid value: "<certificate data>": must contain at least one CERTIFICATE PEM block',
    ]);
    // A certificate is none of the approver's business.
    const certificate = Buffer.from(clientCa.certificate).toString('base64');
    await merge(`${REQUESTS}/r/approval`, { status: { certificate } });
    expect((await get(`${REQUESTS}/r`)).body.status.certificate).toBeUndefined();
  });

  it('[V65] for the group that may do everything are not even taken', async () => {
    const { post } = await startServer({ controllers: false });
    expect((await post(REQUESTS, body('m', pem('a', 'dev', 'system:masters')))).body).toMatchObject({
      code: 403,
      message:
        'certificatesigningrequests.certificates.k8s.io "m" is forbidden: use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed',
    });
  });

  it('[V65] are removed when they are done with: after an hour, undecided ones after a day', async () => {
    const { post, merge, get, runtime } = await startServer();
    for (const name of ['open', 'denied', 'approved'])
      await post(REQUESTS, body(name, pem('a'), { signerName: 'example.com/own' }));
    await runtime.clock.advance(HOUR);
    await merge(`${REQUESTS}/denied/approval`, decision('Denied'));
    await merge(`${REQUESTS}/approved/approval`, decision('Approved'));
    const left = async () =>
      (await get(REQUESTS)).body.items.map((item: { metadata: { name: string } }) => item.metadata.name);
    await runtime.clock.advance(HOUR - 1000);
    expect(await left()).toEqual(['approved', 'denied', 'open']);
    await runtime.clock.advance(120_000);
    expect(await left()).toEqual(['approved', 'open']);
    await runtime.clock.advance(23 * HOUR);
    expect(await left()).toEqual([]);
  });
});

describe('the contents of a request', () => {
  it('[V65] are its subject and its names', () => {
    expect(requestContents(pem('jané', 'dev', 'öps'))).toEqual({
      commonName: 'jané',
      organizations: ['dev', 'öps'],
      ambiguous: false,
      dnsNames: [],
      ipAddresses: [],
      emailAddresses: [],
      uris: [],
    });
    expect(requestContents(WITH_NAMES)).toMatchObject({
      commonName: 'system:node:n1',
      organizations: ['system:nodes'],
      dnsNames: ['node.example'],
      ipAddresses: ['10.0.0.7', 'fd00:0:0:0:0:0:0:1'],
      emailAddresses: ['a@b.c'],
      uris: ['spiffe://x/y'],
    });
  });

  it('[V65] may be anything: what is not a request is refused, never a crash', () => {
    const valid = Buffer.from(pem('jane', 'dev').replace(/-----[^-]+-----|\s/g, ''), 'base64');
    const wrapped = (bytes: Uint8Array): string =>
      `-----BEGIN CERTIFICATE REQUEST-----\n${Buffer.from(bytes).toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`;
    const holds = (bytes: Uint8Array): void => {
      try {
        requestContents(wrapped(bytes));
      } catch (error) {
        expect(error).toBeInstanceOf(RequestError);
      }
    };
    fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), holds));
    fc.assert(
      fc.property(fc.nat(valid.length - 1), fc.nat(255), (index, byte) => {
        const changed = Buffer.from(valid);
        changed[index] = byte;
        holds(changed);
      }),
    );
    expect(() => requestContents('hello')).toThrow(RequestError);
  });
});
