import { describe, expect, it } from 'vitest';
import { away, condition, connected, NOW, propagation, spokeCluster } from '../fleet.fixture.ts';
import { plainPaint } from '../output.ts';
import { propagationLine, type StatusFacts, statusReport } from './report.ts';
import { statusText } from './text.ts';

const GOOD = {
  observedGeneration: 1,
  clusters: 2,
  ready: 2,
  stale: 0,
  objects: 3,
  conditions: ['Selected', 'Placed', 'OverridesApplied', 'Dispatched', 'Ready'].map((type) =>
    condition(type, 'True', type),
  ),
};

function facts(fleet: Partial<StatusFacts['fleet']> = {}): StatusFacts {
  return {
    server: 'https://hub:6443',
    context: 'hub',
    hub: { reachable: true, version: 'v1.34.0' },
    fleet: {
      propagations: [propagation('all', {}, GOOD)],
      clusters: [connected('a'), connected('b')],
      ...fleet,
    },
    now: NOW,
    members: ['hub', 'a', 'b'],
    dirOption: '',
  };
}

const textOf = (input: StatusFacts): string => statusText(statusReport(input), NOW, plainPaint);

describe('status', () => {
  it('shows hub, clusters and propagations, and that nothing is to be done', () => {
    const text = textOf(facts());
    expect(text).toContain('hub  reachable  v1.34.0  https://hub:6443');
    expect(text).toMatch(/^a +Connected +now +v1.34.0 +2 +3\/3 +aaaaaaaaaaaa$/m);
    expect(text).toMatch(/^shop\/all +2 +2 +0 +3 +Ready$/m);
    expect(text).toContain('Everything is as it should be.');
    expect(statusReport(facts()).next).toBeUndefined();
  });
  it('marks what is known of a cluster that is away as stale, with its age', () => {
    const text = textOf(facts({ clusters: [connected('a'), away(connected('b'))] }));
    expect(text).toMatch(/^b +Disconnected +5m ago +v1.34.0 +2 +3\/3 \(stale\) +aaaaaaaaaaaa \(stale\)$/m);
    expect(text).toContain('b is not connected. Next: npx atoll start b');
  });
  it('warns two years before the authority of the links ends', () => {
    const year = 365 * 86_400_000;
    const text = (linkAuthorityEnds: number): string => textOf({ ...facts(), linkAuthorityEnds });
    expect(text(NOW + 3 * year)).toContain('Everything is as it should be.');
    expect(text(NOW + year)).toMatch(/The authority of the links ends on \d{4}-\d\d-\d\d: no spoke connects/);
    expect(text(NOW + year)).not.toContain('Everything');
    expect(text(NOW - 1)).toMatch(/ended on .*: no spoke can connect/);
  });
  it('shows two revisions where not all is applied', () => {
    const spoke = connected('a');
    const behind = { ...spoke, status: { ...spoke.status, appliedRevision: 'sha256:cccccccccccccccc' } };
    expect(textOf(facts({ clusters: [behind] }))).toContain('cccccccccccc → aaaaaaaaaaaa');
  });
  it('sends to the cluster itself where its process is not on this machine', () => {
    const input = { ...facts({ clusters: [away(connected('far'))] }), members: [] };
    expect(statusReport(input).next?.command).toBe('npx atoll cluster show far');
  });
  it('has a line for a cluster that was never seen', () => {
    expect(textOf(facts({ clusters: [spokeCluster('new')] }))).toMatch(/^new +Unknown +never +- +- +- +-$/m);
  });
  it('says so when the hub cannot be reached, and which command starts it', () => {
    const { fleet: _fleet, ...rest } = facts();
    const text = textOf({
      ...rest,
      hub: { reachable: false, message: 'connection refused', next: 'npx atoll start hub' },
    });
    expect(text).toContain('hub  not reachable');
    expect(text).toContain('Next: npx atoll start hub');
    expect(text).not.toContain('No clusters');
  });
  it('tells how to get clusters where there are none', () => {
    expect(statusReport(facts({ clusters: [], propagations: [] })).next?.command).toBe('npx atoll up');
  });
});

describe('propagationLine', () => {
  it('names the first condition that fails: it causes those behind it', () => {
    const conditions = [
      condition('Ready', 'False', 'NotPlaced', 'no cluster is chosen'),
      condition('Selected', 'True', 'Selected'),
      condition('Placed', 'False', 'NoCluster', 'no cluster matches'),
    ];
    const line = propagationLine(propagation('p', {}, { ...GOOD, conditions }));
    expect(line).toMatchObject({ state: 'NoCluster', message: 'no cluster matches', ok: false });
  });
  it('is pending while the newest change was not looked at', () => {
    expect(propagationLine(propagation('p')).state).toBe('Pending');
    const status = { ...GOOD, observedGeneration: 0 };
    expect(propagationLine(propagation('p', {}, status)).state).toBe('Pending');
  });
  it('takes a suspended one for what its owner wants', () => {
    const conditions = [
      condition('Dispatched', 'False', 'Suspended', 'held back'),
      condition('Ready', 'True', 'Ready'),
    ];
    const line = propagationLine(propagation('p', { suspend: true }, { ...GOOD, conditions }));
    expect(line).toMatchObject({ state: 'Suspended', ok: true });
  });
  it('leads to the cluster on which it is not ready', () => {
    const conditions = [condition('Ready', 'False', 'ImagePullBackOff', '1 of 2 clusters are ready')];
    const notReady = [{ cluster: 'b', state: 'Degraded', reason: 'ImagePullBackOff', message: 'Pod x' }];
    const bad = propagation('p', {}, { ...GOOD, ready: 1, conditions, notReady });
    expect(statusReport(facts({ propagations: [bad] })).next?.command).toBe(
      'npx atoll cluster show b --live',
    );
  });
  it('leads to the propagation where its selection is wrong', () => {
    const conditions = [condition('Selected', 'False', 'NothingSelected', 'no object')];
    const bad = propagation('p', {}, { ...GOOD, conditions });
    expect(statusReport(facts({ propagations: [bad] })).next?.command).toBe(
      'kubectl --context hub -n shop describe propagation p',
    );
  });
});
