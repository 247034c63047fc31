import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { KubeObject } from '../../kube/object.ts';
import { refOf } from '../../kube/object.ts';
import type { Author } from '../intent.ts';
import { matchesGlob } from './glob.ts';
import {
  CONTRACT_REASONS,
  type ContractRequest,
  compileContract,
  judge,
  NOTHING_SPENT,
  refusalText,
  type SpokeContractSpec,
  spend,
} from './index.ts';
import { compileWindow, isOpen, nextOpening } from './window.ts';

const source = {
  apiVersion: 'atoll.dev/v1alpha1',
  kind: 'Propagation',
  namespace: 'shop',
  name: 'p',
  uid: 'u',
  generation: 1,
};
const ann: Author = { username: 'ann', groups: ['team-shop'] };

function object(
  kind: string,
  namespace: string,
  name: string,
  labels: Record<string, string> = {},
): KubeObject {
  const apiVersion = kind === 'Deployment' ? 'apps/v1' : 'v1';
  return { apiVersion, kind, metadata: { name, ...(namespace === '' ? {} : { namespace }), labels } };
}

function request(what: KubeObject, more: Partial<ContractRequest> = {}): ContractRequest {
  return { verb: 'apply', ref: refOf(what), object: what, author: ann, source, changes: true, ...more };
}

function ask(specs: readonly SpokeContractSpec[], asked: ContractRequest, now?: number): string {
  const contracts = specs.map((spec, index) => compileContract(`c${index}`, spec));
  const judgement = judge(contracts, asked, now === undefined ? {} : { now });
  return judgement.verdict === 'allow'
    ? 'allow'
    : `${judgement.contract} ${judgement.rule} ${judgement.reason}`;
}

const map = object('ConfigMap', 'shop', 'settings');
const deletion = (what: KubeObject): ContractRequest =>
  request(what, { verb: 'delete', object: undefined, oldObject: what });

describe('a contract', () => {
  it("that nobody wrote allows everything but the cluster's own namespaces", () => {
    expect(ask([], request(map))).toBe('allow');
    expect(ask([], request(object('ConfigMap', 'kube-system', 'coredns')))).toContain('SystemNamespace');
    expect(ask([], request(object('Namespace', '', 'kube-public')))).toContain('SystemNamespace');
    expect(ask([], deletion(object('ConfigMap', 'kube-system', 'coredns')))).toContain('SystemNamespace');
    expect(ask([], request(object('ClusterRole', '', 'kube-reader')))).toBe('allow');
  });

  it("means the cluster's own namespaces by patterns that name them only", () => {
    const inSystem = request(object('ConfigMap', 'kube-system', 'coredns'));
    expect(ask([{ allow: [{ namespaces: ['*'] }] }], inSystem)).toContain('SystemNamespace');
    expect(ask([{ allow: [{ namespaces: ['kube-s*'] }] }], inSystem)).toBe('allow');
    expect(ask([{ allow: [{ namespaces: ['kube-*'] }] }, {}], inSystem)).toBe(
      'c1 spec.allow SystemNamespace',
    );
  });

  it('[K22] writes nothing outside of its scope: namespaces included and excluded, labels', () => {
    const scope: SpokeContractSpec = {
      allow: [{ namespaces: ['shop-*'], labelSelector: { matchLabels: { tier: 'web' } } }],
      deny: [{ namespaces: ['shop-secret'] }],
    };
    const web = { tier: 'web' };
    expect(ask([scope], request(object('ConfigMap', 'shop-a', 'x', web)))).toBe('allow');
    expect(ask([scope], request(object('ConfigMap', 'shop-a', 'x')))).toBe('c0 spec.allow NotAllowed');
    expect(ask([scope], request(object('ConfigMap', 'other', 'x', web)))).toBe('c0 spec.allow NotAllowed');
    expect(ask([scope], request(object('ConfigMap', 'shop-secret', 'x', web)))).toBe(
      'c0 spec.deny[0] Denied',
    );
    expect(ask([scope], request(object('ClusterRole', '', 'x', web)))).toBe('c0 spec.allow NotAllowed');
  });

  it('[K22] an order brings nothing into its scope, nor out of what is denied, by other labels', () => {
    const [plain, web] = [
      object('ConfigMap', 'shop', 'x'),
      object('ConfigMap', 'shop', 'x', { tier: 'web' }),
    ];
    const labelSelector = { matchLabels: { tier: 'web' } };
    const [scope, hands] = [{ allow: [{ labelSelector }] }, { deny: [{ labelSelector }] }];
    const adopt = (wanted: KubeObject, live: KubeObject): string =>
      ask([scope], request(wanted, { verb: 'adopt', oldObject: live }));
    expect(adopt(web, plain)).toBe('c0 spec.allow NotAllowed');
    expect(adopt(plain, web)).toBe('c0 spec.allow NotAllowed');
    expect(adopt(web, web)).toBe('allow');
    // Whose label somebody took away on the cluster: it was made in the scope, and is kept up.
    expect(ask([scope], request(web, { oldObject: plain }))).toBe('allow');
    for (const verb of ['apply', 'adopt'] as const) {
      expect(ask([hands], request(plain, { verb, oldObject: web }))).toBe('c0 spec.deny[0] Denied');
      expect(ask([hands], request(web, { verb, oldObject: plain }))).toBe('c0 spec.deny[0] Denied');
      expect(ask([hands], request(plain, { verb, oldObject: plain }))).toBe('allow');
    }
  });

  it('[K124] says which kinds a cluster accepts; a kind without group is the narrower reading', () => {
    const allow = [{ kinds: [{ kind: 'ConfigMap' }, { group: 'apps', kind: '*' }] }];
    expect(ask([{ allow }], request(map))).toBe('allow');
    expect(ask([{ allow }], request(object('Deployment', 'shop', 'cart')))).toBe('allow');
    expect(ask([{ allow }], request(object('Secret', 'shop', 'key')))).toBe('c0 spec.allow NotAllowed');
    const bare = [{ kinds: [{ kind: 'Deployment' }] }];
    expect(ask([{ allow: bare }], request(object('Deployment', 'shop', 'cart')))).toContain('NotAllowed');
    expect(ask([{ deny: bare }], request(object('Deployment', 'shop', 'cart')))).toContain('Denied');
  });

  it('means authors by user or group, and nobody who is not known', () => {
    const only = (authors: object): SpokeContractSpec => ({ allow: [{ authors }] });
    expect(ask([only({ users: ['ann'] })], request(map))).toBe('allow');
    expect(ask([only({ groups: ['team-*'] })], request(map))).toBe('allow');
    expect(ask([only({ users: ['bob'], groups: ['admins'] })], request(map))).toContain('NotAllowed');
    expect(ask([only({ users: ['*'] })], request(map, { author: undefined }))).toContain('NotAllowed');
    expect(ask([only({})], request(map))).toContain('NotAllowed');
  });

  it('tells applying, adopting and deleting apart; who adopts must be let apply too', () => {
    const allow = [{ verbs: ['apply'] as const }];
    expect(ask([{ allow }], request(map))).toBe('allow');
    expect(ask([{ allow }], request(map, { verb: 'adopt', oldObject: map }))).toContain('NotAllowed');
    expect(ask([{ allow }], deletion(map))).toContain('NotAllowed');
    const both = [{ verbs: ['apply'] as const }, { verbs: ['adopt'] as const }];
    expect(ask([{ allow: both }], request(map, { verb: 'adopt', oldObject: map }))).toBe('allow');
    expect(ask([{ allow: [{ verbs: ['adopt'] as const }] }], request(map, { verb: 'adopt' }))).toContain(
      'NotAllowed',
    );
  });

  it('keeps what must not be deleted, by name and by the labels on the cluster', () => {
    const spec: SpokeContractSpec = {
      mustNotDelete: [
        { kind: 'Namespace', name: 'shop*' },
        { labelSelector: { matchLabels: { keep: 'yes' } } },
      ],
    };
    expect(ask([spec], deletion(object('Namespace', '', 'shop')))).toBe(
      'c0 spec.mustNotDelete[0] MustNotDelete',
    );
    expect(ask([spec], deletion(object('ConfigMap', 'a', 'b', { keep: 'yes' })))).toContain('MustNotDelete');
    expect(ask([spec], deletion(map))).toBe('allow');
    const live = object('ConfigMap', 'shop', 'settings', { keep: 'yes' });
    expect(ask([spec], request(map, { oldObject: live }))).toBe('allow');
    const stripped = object('ConfigMap', 'shop', 'settings', { keep: 'no' });
    expect(ask([spec], request(stripped, { oldObject: live }))).toContain('MustNotDelete');
  });

  it('may say anything in CEL; what fails or costs too much is refused', () => {
    const rule = (expression: string): SpokeContractSpec[] => [{ rules: [{ expression, message: 'no' }] }];
    const replicas = { ...object('Deployment', 'shop', 'cart'), spec: { replicas: 5 } };
    expect(ask(rule('object.spec.replicas <= 5'), request(replicas))).toBe('allow');
    expect(ask(rule('object.spec.replicas < 5'), request(replicas))).toBe('c0 spec.rules[0] RuleRefused');
    expect(ask(rule('object.spec.replicas < 5'), request(map))).toContain('RuleFailed');
    expect(ask(rule("verb != 'delete' || oldObject.metadata.name != 'settings'"), deletion(map))).toContain(
      'RuleRefused',
    );
    expect(ask(rule("'team-shop' in author.groups && source.name == 'p'"), request(map))).toBe('allow');
    const many = { ...map, items: Array.from({ length: 2000 }, (_, i) => i) };
    expect(ask(rule('object.items.all(a, object.items.all(b, a + b >= 0))'), request(many))).toContain(
      'RuleFailed',
    );
  });

  it('seen from the hub says nothing where it depends on what only the spoke knows', () => {
    const contracts = [
      compileContract('c', {
        rules: [{ expression: 'oldObject == null' }],
        windows: [{ start: '00:00', end: '00:01' }],
      }),
    ];
    expect(judge(contracts, request(map), { preview: true }).verdict).toBe('allow');
    const other = [
      compileContract('c', { rules: [{ expression: 'object.metadata.name == "x" && oldObject == null' }] }),
    ];
    expect(judge(other, request(map), { preview: true }).verdict).toBe('refuse');
  });

  it('that cannot be understood allows nothing, and says why', () => {
    for (const spec of [
      { rules: [{ expression: 'object.' }] },
      { rules: [{ expression: '1 + 1' }] },
      { windows: [{ timeZone: 'Middle/Earth', start: '01:00', end: '02:00' }] },
      { windows: [{ start: '25:00', end: '02:00' }] },
      { rate: { bytesPerHour: 'much' } },
      { allow: [{ labelSelector: { matchExpressions: [{ key: 'a', operator: 'Is' }] } }] },
    ] as SpokeContractSpec[])
      expect(ask([spec], request(map)), JSON.stringify(spec)).toBe('c0 spec InvalidContract');
  });

  it('[S60] maps authors to service accounts; who is mapped to none, or to two, may do nothing', () => {
    const account = (name: string): { namespace: string; name: string } => ({ namespace: 'teams', name });
    const mapped: SpokeContractSpec = {
      executors: [
        { authors: { groups: ['team-shop'] }, serviceAccount: account('shop') },
        { authors: { users: ['root'] }, serviceAccount: account('all') },
      ],
    };
    const contract = compileContract('c', mapped);
    expect(judge([contract], request(map))).toEqual({ verdict: 'allow', executor: account('shop') });
    expect(judge([compileContract('d', {}), contract], request(map))).toMatchObject({
      executor: account('shop'),
    });
    expect(ask([mapped], request(map, { author: { username: 'eve' } }))).toBe('c0 spec.executors NoExecutor');
    expect(ask([mapped], request(map, { author: undefined }))).toContain('NoExecutor');
    expect(ask([mapped, { executors: [{ serviceAccount: account('x') }] }], request(map))).toBe(
      'c1 spec.executors ExecutorConflict',
    );
  });

  it('pauses everything; windows hold back what is new only', () => {
    const now = Date.UTC(2026, 5, 3, 12, 0);
    const night: SpokeContractSpec = { windows: [{ start: '22:00', end: '04:00' }] };
    expect(ask([{ paused: true }], request(map, { changes: false }), now)).toContain('Paused');
    expect(ask([night], request(map), now)).toBe('c0 spec.windows OutsideWindow');
    expect(ask([night], request(map, { changes: false }), now)).toBe('allow');
    const judgement = judge([compileContract('c', night)], request(map), { now });
    expect(judgement).toMatchObject({ retryAt: Date.UTC(2026, 5, 3, 22, 0) });
    expect(ask([night], request(map), Date.UTC(2026, 5, 3, 23, 0))).toBe('allow');
  });

  it('of the documentation can be understood', () => {
    const page = readFileSync(new URL('../../../docs/contract.md', import.meta.url), 'utf8');
    const written = parse(/```yaml\n([\s\S]*?)```/.exec(page)?.[1] ?? '') as { spec: SpokeContractSpec };
    expect(compileContract('c', written.spec).problems).toEqual([]);
    expect(ask([written.spec], request(object('ConfigMap', 'elsewhere', 'x')))).toContain('NotAllowed');
    for (const reason of Object.keys(CONTRACT_REASONS)) expect(page).toContain(`\`${reason}\``);
  });

  it('has a sentence for every refusal, with what to do', () => {
    const judgement = judge([compileContract('platform', { deny: [{}] })], request(map));
    if (judgement.verdict !== 'refuse') throw new Error('allowed');
    expect(refusalText(judgement)).toBe(
      'SpokeContract platform: ann may not apply ConfigMap shop/settings. Next: take it out of spec.deny of the contract',
    );
    for (const { meaning, next } of Object.values(CONTRACT_REASONS)) expect(`${meaning}${next}`).not.toBe('');
  });

  it('of several all must allow: a further one never allows more', () => {
    const kinds = fc.constantFrom('ConfigMap', 'Secret', 'Deployment', 'Namespace');
    const clause = fc.record(
      {
        kinds: fc.array(fc.record({ kind: kinds, group: fc.constantFrom('', 'apps', '*') }), {
          maxLength: 2,
        }),
        namespaces: fc.array(fc.constantFrom('shop', 's*', '*', '', 'kube-*'), { maxLength: 2 }),
        verbs: fc.subarray(['apply', 'adopt', 'delete'] as const),
      },
      { requiredKeys: [] },
    );
    const contract = fc.record(
      { allow: fc.array(clause, { maxLength: 3 }), deny: fc.array(clause, { maxLength: 2 }) },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(
        fc.array(contract, { minLength: 1, maxLength: 3 }),
        contract,
        kinds,
        fc.constantFrom('shop', 'sea', '', 'kube-system'),
        fc.constantFrom('apply', 'adopt', 'delete'),
        (specs, further, kind, namespace, verb) => {
          const asked = request(object(kind, namespace, 'x'), { verb: verb as 'apply' });
          const before = ask(specs, asked);
          const after = ask([...specs, further], asked);
          if (before !== 'allow') expect(after).toBe(before);
          expect(after === 'allow').toBe(before === 'allow' && ask([further], asked) === 'allow');
        },
      ),
    );
  });
});

describe('a window', () => {
  const open = (spec: Parameters<typeof compileWindow>[0], now: number): boolean => {
    const window = compileWindow(spec);
    if (typeof window === 'string') throw new Error(window);
    return isOpen(window, now);
  };

  it('is of the day on which it begins, on the clock of its zone', () => {
    const weekend = { timeZone: 'Europe/Zurich', days: ['Sat'] as const, start: '22:00', end: '04:00' };
    // Summer time: two hours ahead of UTC. 6 June 2026 is a Saturday.
    expect(open(weekend, Date.UTC(2026, 5, 6, 19, 59))).toBe(false);
    expect(open(weekend, Date.UTC(2026, 5, 6, 20, 0))).toBe(true);
    expect(open(weekend, Date.UTC(2026, 5, 7, 1, 59))).toBe(true);
    expect(open(weekend, Date.UTC(2026, 5, 7, 2, 0))).toBe(false);
    expect(open(weekend, Date.UTC(2026, 5, 7, 20, 0))).toBe(false);
    // Winter: one hour.
    expect(open(weekend, Date.UTC(2026, 0, 3, 20, 30))).toBe(false);
    expect(open(weekend, Date.UTC(2026, 0, 3, 21, 0))).toBe(true);
  });

  it('of equal ends lasts a day', () => {
    const day = { days: ['Mon'] as const, start: '09:00', end: '09:00' };
    expect(open(day, Date.UTC(2026, 5, 1, 9))).toBe(true);
    expect(open(day, Date.UTC(2026, 5, 2, 8, 59))).toBe(true);
    expect(open(day, Date.UTC(2026, 5, 2, 9))).toBe(false);
  });

  it('opens when it says that it will', () => {
    const zones = fc.constantFrom(
      'UTC',
      'Europe/Zurich',
      'America/New_York',
      'Asia/Kathmandu',
      'Pacific/Auckland',
    );
    const time = fc.record({ h: fc.integer({ min: 4, max: 23 }), m: fc.integer({ min: 0, max: 59 }) });
    fc.assert(
      fc.property(
        zones,
        fc.subarray(['Mon', 'Wed', 'Sun'] as const, { minLength: 1 }),
        time,
        fc.integer({ min: Date.UTC(2026, 0, 1), max: Date.UTC(2026, 11, 31) }),
        (timeZone, days, { h, m }, now) => {
          const two = (n: number): string => String(n).padStart(2, '0');
          const window = compileWindow({ timeZone, days, start: `${two(h)}:${two(m)}`, end: '02:30' });
          if (typeof window === 'string') throw new Error(window);
          fc.pre(!isOpen(window, now));
          const at = nextOpening([window], now) ?? 0;
          expect(at).toBeGreaterThan(now);
          expect(isOpen(window, at)).toBe(true);
          expect(isOpen(window, at - 60_000)).toBe(false);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('that no day has never opens', () => {
    const window = compileWindow({ days: [], start: '01:00', end: '02:00' });
    if (typeof window === 'string') throw new Error(window);
    expect(nextOpening([window], 0)).toBeUndefined();
  });
});

describe('an allowance', () => {
  it('bounds objects in a minute and bytes in an hour', () => {
    const allowance = { objectsPerMinute: 2, bytesPerHour: 100 };
    let spent = NOTHING_SPENT;
    const at = (now: number, bytes: number): string => {
      const result = spend(allowance, spent, now, bytes);
      spent = result.spent;
      return result.refused === undefined ? 'ok' : `${result.refused} until ${result.retryAt}`;
    };
    expect(at(0, 10)).toBe('ok');
    expect(at(1_000, 10)).toBe('ok');
    expect(at(2_000, 10)).toBe('RateLimited until 60000');
    expect(at(60_000, 70)).toBe('ok');
    expect(at(61_000, 20)).toBe('ByteBudgetSpent until 3600000');
    expect(at(3_600_000, 20)).toBe('ok');
  });

  it('waits for no time that a clock was wrong about', () => {
    const allowance = { objectsPerMinute: 1, bytesPerHour: 10 };
    const later = 1_000_000_000_000;
    const { spent } = spend(allowance, NOTHING_SPENT, later, 10);
    expect(spend(allowance, spent, later + 1, 1).refused).toBe('RateLimited');
    expect(spend(allowance, spent, 1_000, 10).refused).toBeUndefined();
  });

  it('lets something larger than a whole hour through as its first', () => {
    const first = spend({ bytesPerHour: 10 }, NOTHING_SPENT, 0, 1_000);
    expect(first.refused).toBeUndefined();
    expect(spend({ bytesPerHour: 10 }, first.spent, 1, 1).refused).toBe('ByteBudgetSpent');
  });
});

describe('a pattern', () => {
  it('fits as an expression for the same would', () => {
    const piece = fc.constantFrom('a', 'b', '*', '?', 'ab', '.');
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 8 }),
        fc.string({ unit: fc.constantFrom('a', 'b', '.'), maxLength: 10 }),
        (pieces, name) => {
          const pattern = pieces.join('');
          const expression = [...pattern].map((c) =>
            c === '*' ? '.*' : c === '?' ? '.' : `\\${c}`.replace(/\\([ab])/, '$1'),
          );
          expect(matchesGlob(pattern, name)).toBe(new RegExp(`^${expression.join('')}$`).test(name));
        },
      ),
    );
  });

  it('of many stars is answered at once', () => {
    expect(matchesGlob(`${'*a'.repeat(200)}b`, 'a'.repeat(253))).toBe(false);
  });
});
