import { describe, expect, it } from 'vitest';
import {
  type AccessGrant,
  findGrant,
  type GrantedAct,
  grantCovers,
  grantState,
  impersonationHeaders,
  readImpersonation,
  userOnSpoke,
} from './index.ts';

describe('a user of the hub on a spoke', () => {
  it('has the same name and groups behind hub:, and none of system:', () => {
    expect(
      userOnSpoke(
        { name: 'alice', groups: ['devs', 'system:masters', 'system:authenticated', 'kubeadm:x'] },
        ['g'],
      ),
    ).toEqual({ name: 'hub:alice', groups: ['atoll:hub-users', 'g', 'hub:devs', 'hub:kubeadm:x'] });
    expect(userOnSpoke({ name: 'system:serviceaccount:ci:bot', groups: ['system:serviceaccounts'] })).toEqual(
      {
        name: 'hub:system:serviceaccount:ci:bot',
        groups: ['atoll:hub-users'],
      },
    );
    // The groups that a hub gives are its own to give: who is in one of the name at the hub is in another.
    expect(userOnSpoke({ name: 'eve', groups: ['atoll:grant:exec'] })?.groups).toEqual([
      'atoll:hub-users',
      'hub:atoll:grant:exec',
    ]);
  });

  it('is nobody without a name that can travel', () => {
    for (const name of ['', 'system:anonymous', 'a\nImpersonate-Group: x', ' a', 'é', 'x'.repeat(600)])
      expect(userOnSpoke({ name, groups: [] })).toBeUndefined();
    expect(userOnSpoke({ name: 'x', groups: ['system:unauthenticated'] })).toBeUndefined();
    expect(userOnSpoke({ name: 'x', groups: ['a, system:masters', 'b\r\n', ''] })?.groups).toEqual([
      'atoll:hub-users',
    ]);
  });

  it('is read on the spoke as it was written, and nothing else is', () => {
    const user = { name: 'hub:CN=alice,O=x', groups: ['atoll:hub-users', 'atoll:grant:write', 'hub:a b'] };
    expect(readImpersonation(impersonationHeaders(user))).toEqual(user);
    expect(readImpersonation({ accept: 'x' })).toBeUndefined();
    for (const headers of [
      { 'impersonate-user': 'admin' },
      { 'impersonate-user': 'hub:' },
      { 'impersonate-group': 'hub:a' },
      { 'impersonate-user': 'hub:a', 'impersonate-group': 'hub:b,system:masters' },
      { 'impersonate-user': 'hub:a', 'impersonate-group': 'hub:' },
      { 'impersonate-user': 'hub:a', 'impersonate-group': 'hub:b', 'impersonate-extra-scopes': 'x' },
    ])
      expect(readImpersonation(headers)).toHaveProperty('refused');
  });
});

describe('a grant', () => {
  const NOW = Date.parse('2026-03-01T10:00:00Z');
  const grant = (spec: Partial<AccessGrant['spec']> = {}): AccessGrant => ({
    apiVersion: 'atoll.dev/v1alpha1',
    kind: 'AccessGrant',
    metadata: { name: 'g', creationTimestamp: '2026-03-01T09:00:00Z' },
    spec: {
      user: 'alice',
      clusters: { names: ['east'] },
      namespaces: ['shop'],
      allow: ['exec'],
      reason: 'r',
      expiresAt: '2026-03-01T12:00:00Z',
      requestedBy: 'alice',
      approvedBy: 'bob',
      ...spec,
    },
  });
  const act = (more: Partial<GrantedAct> = {}): GrantedAct => ({
    user: { name: 'alice', groups: ['devs'] },
    cluster: { name: 'east', labels: { env: 'prod' } },
    namespace: 'shop',
    what: 'exec',
    ...more,
  });

  it('is about its user or group, clusters, namespaces and acts alone', () => {
    expect(grantCovers(grant(), act())).toBe(true);
    expect(grantCovers(grant(), act({ what: 'write' }))).toBe(false);
    expect(grantCovers(grant(), act({ namespace: 'other' }))).toBe(false);
    expect(grantCovers(grant(), act({ namespace: '' }))).toBe(false);
    expect(grantCovers(grant({ namespaces: ['*'] }), act({ namespace: '' }))).toBe(true);
    expect(grantCovers(grant(), act({ user: { name: 'eve', groups: [] } }))).toBe(false);
    expect(grantCovers(grant(), act({ cluster: { name: 'west', labels: {} } }))).toBe(false);
    const { user: _user, ...ofGroup } = grant({ group: 'devs' }).spec;
    expect(grantCovers({ ...grant(), spec: ofGroup }, act())).toBe(true);
    const selecting = grant({ clusters: { selector: { matchLabels: { env: 'prod' } } } });
    expect(grantCovers(selecting, act())).toBe(true);
    expect(grantCovers(selecting, act({ cluster: { name: 'x', labels: {} } }))).toBe(false);
    // A selector that cannot be understood selects nothing.
    const broken = grant({ clusters: { selector: { matchExpressions: [{ key: 'a', operator: 'Near' }] } } });
    expect(grantCovers(broken, act())).toBe(false);
  });

  it('is live from its approval to its end, and never for more than 8 hours', () => {
    expect(grantState(grant(), NOW)).toMatchObject({
      state: 'Live',
      until: Date.parse('2026-03-01T12:00:00Z'),
    });
    expect(grantState(grant(), Date.parse('2026-03-01T12:00:00Z')).state).toBe('Expired');
    const { approvedBy: _approvedBy, ...pending } = grant().spec;
    expect(grantState({ ...grant(), spec: pending }, NOW).state).toBe('Pending');
    expect(grantState(grant({ expiresAt: '2026-03-01T17:00:00Z' }), NOW).state).toBe('Live');
    expect(grantState(grant({ expiresAt: '2026-03-01T17:00:05Z' }), NOW).state).toBe('Refused');
    expect(grantState(grant({ expiresAt: 'never' }), NOW).state).toBe('Refused');
    const longer = grant({ expiresAt: '2026-03-01T14:00:00Z' });
    expect(findGrant([grant(), longer], act(), NOW)?.grant).toBe(longer);
    expect(findGrant([grant(), longer], act({ namespace: 'x' }), NOW)).toBeUndefined();
  });
});
