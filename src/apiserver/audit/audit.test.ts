import { describe, expect, it } from 'vitest';
import { virtualRuntime } from '../../runtime/index.ts';
import { resourceAttributes } from '../auth/index.ts';
import { startServer } from '../server.fixture.ts';
import { type AuditEvent, auditEvent, parseAuditPolicy } from './index.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';
const SECRETS = '/api/v1/namespaces/default/secrets';

const policy = (rules: string): string => `apiVersion: audit.k8s.io/v1\nkind: Policy\n${rules}`;

async function audited(text: string) {
  const events: AuditEvent[] = [];
  const fixture = await startServer({
    controllers: false,
    audit: (event) => events.push(event),
    auditPolicy: parseAuditPolicy(policy(text)),
  });
  return {
    ...fixture,
    events,
    seen: () => events.splice(0).map(({ level, stage, verb }) => `${level} ${stage} ${verb}`),
  };
}

describe('an audit event', () => {
  it('tells who did what to which object, without credentials of the query', () => {
    const runtime = virtualRuntime(1);
    const user = (name: string) => ({ name, groups: [] });
    const event = auditEvent(
      runtime,
      {
        auditID: 'id',
        uri: '/api/v1/namespaces/shop/pods/x/log?token=secret&follow=1',
        user: user('ann'),
        impersonatedUser: user('jane'),
        attributes: resourceAttributes(user('jane'), 'root', {
          verb: 'get',
          version: 'v1',
          resource: 'pods',
          subresource: 'log',
          name: 'x',
          namespace: 'shop',
        }),
        verb: 'get',
        sourceAddress: '127.0.0.1',
        userAgent: 'kubectl',
        receivedAt: runtime.clock.now(),
      },
      { level: 'Metadata', stage: 'ResponseComplete', code: 200 },
    );
    expect(event).toMatchObject({
      level: 'Metadata',
      stage: 'ResponseComplete',
      requestURI: '/api/v1/namespaces/shop/pods/x/log?token=REDACTED&follow=1',
      user: { username: 'ann' },
      impersonatedUser: { username: 'jane' },
      objectRef: { resource: 'pods', subresource: 'log', namespace: 'shop', name: 'x', apiVersion: 'v1' },
      sourceIPs: ['127.0.0.1'],
      responseStatus: { code: 200 },
      stageTimestamp: '2026-01-01T00:00:00.000000Z',
    });
  });
});

describe('an audit policy', () => {
  it('[V69] is asked rule by rule: the first that matches counts, and what none matches is not recorded', async () => {
    const { get, post, call, seen, events } = await audited(`
omitStages: [RequestReceived]
rules:
- {level: None, verbs: [get], resources: [{resources: [configmaps]}]}
- {level: Request, resources: [{resources: ["configmaps"]}], namespaces: [default]}
- {level: RequestResponse, users: [ann], omitManagedFields: true}
- {level: Metadata, nonResourceURLs: ["/api*"], userGroups: [system:masters]}
`);
    await get(`${MAPS}/a`);
    expect(seen()).toEqual([]);
    await post(MAPS, { metadata: { name: 'a' }, data: { x: 'y' } });
    expect(events[0]).toMatchObject({ requestObject: { data: { x: 'y' } }, responseStatus: { code: 201 } });
    expect(events[0]).not.toHaveProperty('responseObject');
    expect(seen()).toEqual(['Request ResponseComplete create']);
    await get('/apis');
    await get('/version');
    expect(seen()).toEqual(['Metadata ResponseComplete get']);
    // Who asks is who has shown himself, not who he acts as.
    await call('GET', '/api/v1/nodes', undefined, { 'impersonate-user': 'ann' });
    expect(seen()).toEqual([]);
  });

  it('[V69] records both bodies, without managed fields where they are to be left out', async () => {
    const { post, apply, events } = await audited(`
omitManagedFields: true
rules:
- {level: RequestResponse, omitStages: [RequestReceived]}
`);
    await post(MAPS, { metadata: { name: 'a' }, data: { x: 'y' } });
    await apply(`${MAPS}/b`, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'b' },
      data: { z: '1' },
    });
    expect(events.map(({ requestObject, responseObject }) => [requestObject, responseObject])).toMatchObject([
      [{ data: { x: 'y' } }, { kind: 'ConfigMap', metadata: { name: 'a' } }],
      [{ data: { z: '1' } }, { kind: 'ConfigMap', data: { z: '1' } }],
    ]);
    expect(JSON.stringify(events)).not.toContain('managedFields');
  });

  it('[V69] never makes credentials be recorded', async () => {
    const { post, get, events } = await audited('rules: [{level: RequestResponse}]');
    await post(SECRETS, { metadata: { name: 's' }, stringData: { password: 'hunter2' } });
    await get(`${SECRETS}/s`);
    await get(SECRETS);
    await post('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'a' } });
    events.splice(0, events.length, ...events.filter(({ objectRef }) => objectRef?.resource === 'secrets'));
    await post('/api/v1/namespaces/default/serviceaccounts/a/token', { spec: {} });
    await post('/apis/authentication.k8s.io/v1/tokenreviews', { spec: { token: 'hunter2' } });
    expect(events.length).toBe(10);
    for (const event of events) {
      expect(event.level).toBe('Metadata');
      expect(event).not.toHaveProperty('requestObject');
      expect(event).not.toHaveProperty('responseObject');
    }
    expect(JSON.stringify(events)).not.toMatch(/hunter2|aHVudGVyMg|eyJ/);
  });

  it('[V69] tells the stages of a request, and of a stream its beginning and its end', async () => {
    const { get, watch, seen, runtime } = await audited('rules: [{level: Metadata}]');
    await get(MAPS);
    expect(seen()).toEqual(['Metadata RequestReceived list', 'Metadata ResponseComplete list']);
    const stream = await watch(`${MAPS}?watch=1&timeoutSeconds=5`);
    expect(seen()).toEqual(['Metadata RequestReceived watch', 'Metadata ResponseStarted watch']);
    await runtime.clock.advance(5_000);
    expect(await stream.rest()).toEqual([]);
    expect(seen()).toEqual(['Metadata ResponseComplete watch']);
  });

  it.each([
    ['no kind', 'rules: [{level: Metadata}]', 'is no Policy'],
    ['no rules', policy(''), 'has no rules'],
    ['a level that is none', policy('rules: [{level: All}]'), 'rules[0].level'],
    ['a stage that is none', policy('omitStages: [Done]\nrules: [{level: None}]'), '"Done" is no stage'],
    [
      'paths beside resources',
      policy('rules: [{level: None, nonResourceURLs: ["/a"], namespaces: [b]}]'),
      'at once',
    ],
    ['a star within a path', policy('rules: [{level: None, nonResourceURLs: ["/a*b"]}]'), 'is no path'],
    ['users that are no list', policy('rules: [{level: None, users: ann}]'), 'rules[0].users'],
    ['no YAML', '{', 'cannot be read'],
  ])('[V69] with %s is refused', (_title, text, why) => {
    expect(() => parseAuditPolicy(text)).toThrow(why);
  });
});
