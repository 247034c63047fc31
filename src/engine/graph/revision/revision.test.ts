// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { describe, expect, it } from 'vitest';
import { compiled, definitionIn } from '../graph.fixture.ts';
import {
  breakingText,
  chooseRevision,
  compareDefinitions,
  decideRevision,
  obsoleteRevisions,
  type RevisionRecord,
  revisionDigest,
  revisionName,
} from './index.ts';

const record = (number: number, hash: string, state: RevisionRecord['state'] = 'Active'): RevisionRecord => ({
  number,
  hash,
  state,
});

describe('revisions', () => {
  it('are told apart by what they say, not by how it is written', () => {
    const digest = (yaml: string): string => revisionDigest(definitionIn(yaml)).hash;
    const a = '{id: a, readyWhen: ["${1}", "${2}"], template: {x: []}}';
    const b = '{id: b, template: {}}';
    const base = digest(`resources: [${a}, ${b}]`);
    expect(digest(`resources: [${b}, ${a}]`)).toBe(base);
    expect(digest(`resources: [${b}, ${a.replace('"${1}", "${2}"', '"${2}", "${1}"')}]`)).toBe(base);
    expect(
      digest(
        `schema: {types: {}, shortNames: []}\nresources: [${a}, {id: b, template: {}, includeWhen: [], forEach: []}]`,
      ),
    ).toBe(base);
    expect(digest(`resources: [${a}]`)).not.toBe(base);
    expect(digest(`resources: [${a.replace('x: []', '')}, ${b}]`)).not.toBe(base);
    const each = (list: string): string => digest(`resources: [{id: a, forEach: [${list}], template: {}}]`);
    expect(each('{x: "${1}"}, {z: "${2}"}')).not.toBe(each('{z: "${2}"}, {x: "${1}"}'));
    expect(base).toMatch(/^[0-9a-f]{16}$/);
  });

  it('are issued once, with numbers that never come back', () => {
    const decide = (hash: string, revisions: RevisionRecord[], lastIssued = 0, warm = true): unknown =>
      decideRevision({ hash, revisions, lastIssued, warm });
    expect(decide('a', [])).toEqual({ kind: 'Issue', number: 1 });
    expect(decide('a', [], 7)).toEqual({ kind: 'Issue', number: 8 });
    expect(decide('b', [record(9, 'a'), record(3, 'b')], 7)).toEqual({ kind: 'Issue', number: 10 });
    expect(decide('a', [record(9, 'a')])).toEqual({ kind: 'Serve', number: 9 });
    expect(decide('a', [record(9, 'a', 'Pending')])).toMatchObject({
      kind: 'Wait',
      reason: 'WaitingForGraphRevisionCompilation',
    });
    expect(decide('a', [record(9, 'a', 'Failed')])).toMatchObject({ kind: 'Failed', number: 9 });
    expect(decide('a', [], 0, false)).toMatchObject({
      kind: 'Wait',
      reason: 'WaitingForGraphRevisionWarmup',
    });
    expect(decide('b', [{ ...record(1, 'a'), terminating: true }])).toMatchObject({
      kind: 'Wait',
      reason: 'WaitingForGraphRevisionSettlement',
    });
  });

  it('serve the pinned or the newest, and are kept while they are in use', () => {
    const all = [1, 2, 3, 4, 5, 6, 7].map((number) => record(number, String(number)));
    expect(obsoleteRevisions(all, new Set([1])).map(({ number }) => number)).toEqual([2]);
    expect(obsoleteRevisions(all, new Set(), 0).map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(chooseRevision(all, undefined)).toEqual({ kind: 'Use', number: 7 });
    expect(chooseRevision(all, 3)).toEqual({ kind: 'Use', number: 3 });
    expect(chooseRevision(all, 9)).toMatchObject({ kind: 'Failed' });
    expect(chooseRevision([...all, record(8, 'x', 'Pending')], undefined)).toMatchObject({ kind: 'Wait' });
  });

  it('have names that fit', () => {
    expect(revisionName('web', 3)).toBe('web-r00003');
    const long = revisionName('a'.repeat(253), 123456);
    expect(long).toMatch(/^a+-[0-9a-f]{8}-r123456$/);
    expect(long.length).toBeLessThanOrEqual(253);
  });
});

describe('compatibility', () => {
  const definition = (spec: string, more = ''): ReturnType<typeof compiled>['definition'] =>
    compiled(`schema: {spec: ${spec}, ${more}}`).definition;
  const changes = (before: string, after: string): string[] =>
    compareDefinitions(definition(before), definition(after)).changes.map(
      ({ path, message, breaking }) => `${breaking ? '!' : ' '} ${path.replace('v1: spec', '')} ${message}`,
    );

  it('names every field that breaks instances', () => {
    const vectors: readonly [string, string, string][] = [
      ['{a: string, b: string}', '{b: string}', '! .a the field is gone'],
      ['{a: string}', '{a: integer}', '! .a the type changes from string to integer'],
      ['{a: string}', '{a: "string | required=true"}', '!  the field a becomes required'],
      ['{}', '{a: "string | required=true"}', '!  the required field a is new'],
      ['{a: \'string | enum="x,z"\'}', '{a: \'string | enum="x"\'}', '! .a "z" is not allowed any longer'],
      ['{a: string}', '{a: \'string | enum="x"\'}', '! .a only some values are allowed now'],
      ['{a: string}', '{a: "string | pattern=x"}', '! .a a pattern is added'],
      ['{a: "string | pattern=x"}', '{a: "string | pattern=z"}', '! .a the pattern changes'],
      [
        '{a: "string | required=true default=x"}',
        '{a: "string | required=true"}',
        '!  the required field a has a default no longer',
      ],
      ['{a: integer}', '{a: "integer | minimum=1"}', '! .a minimum=1 is added'],
      ['{a: "integer | minimum=1"}', '{a: "integer | minimum=2"}', '! .a minimum changes from 1 to 2'],
      ['{a: "integer | maximum=2"}', '{a: "integer | maximum=1"}', '! .a maximum changes from 2 to 1'],
      ['{a: "string | maxLength=2"}', '{a: "string | maxLength=1"}', '! .a maxLength changes from 2 to 1'],
      ['{a: "string | minLength=1"}', '{a: "string | minLength=2"}', '! .a minLength changes from 1 to 2'],
      ['{a: "[]string"}', '{a: "[]string | maxItems=1"}', '! .a maxItems=1 is added'],
      ['{a: "[]string"}', '{a: "[]integer"}', '! .a[] the type changes from string to integer'],
      [
        '{a: "map[string]string"}',
        '{a: "map[string]integer"}',
        '! .a.* the type changes from string to integer',
      ],
      ['{a: {b: {c: string}}}', '{a: {b: {d: string}}}', '! .a.b.c the field is gone'],
      ['{a: object}', '{a: {b: string}}', '! .a unknown fields are kept no longer'],
      ['{a: "map[string]string"}', '{a: {b: string}}', '! .a.* other keys are not allowed any longer'],
      ['{a: "[]string"}', '{a: "[]string | listType=set"}', '! .a x-kubernetes-list-type changes'],
    ];
    for (const [before, after, message] of vectors)
      expect(changes(before, after), `${before} to ${after}`).toContain(message);
  });

  it('takes what breaks nothing', () => {
    const vectors: readonly [string, string, string][] = [
      ['{}', '{a: string}', '  .a the field is new'],
      ['{}', '{a: "string | required=true default=x"}', '   the required field a is new'],
      ['{a: "string | required=true"}', '{a: string}', '   the field a is required no longer'],
      ['{a: "string | default=x"}', '{a: "string | default=z"}', '  .a the default changes'],
      ['{a: string}', '{a: "string | description=x"}', '  .a the description changes'],
      ['{a: \'string | enum="x"\'}', '{a: \'string | enum="x,z"\'}', '  .a more values are allowed'],
      ['{a: "string | pattern=x"}', '{a: string}', '  .a the pattern is gone'],
      [
        '{a: "integer | minimum=2 maximum=3"}',
        '{a: "integer | minimum=1 maximum=4"}',
        '  .a minimum changes from 2 to 1',
      ],
      ['{a: string}', '{a: "string | immutable=true"}', '  .a the validation rules change'],
      ['{a: "map[string]string"}', '{a: object}', '  .a.* anything is allowed now'],
      ['{a: "[]string | uniqueItems=true"}', '{a: "[]string"}', '  .a x-kubernetes-list-type changes'],
    ];
    for (const [before, after, message] of vectors) {
      expect(changes(before, after), `${before} to ${after}`).toContain(message);
      expect(compareDefinitions(definition(before), definition(after)).breaking).toEqual([]);
    }
    expect(compareDefinitions(definition('{a: string}'), definition('{a: string}')).differs).toBe(false);
    expect(changes('{a: "[]string"}', '{a: "[]string | listType=atomic"}')).toEqual([]);
  });

  it('shows three changes by name, and sees versions, scope and status go', () => {
    const report = compareDefinitions(
      definition('{a: string, b: string, c: string, d: string}'),
      definition('{}'),
    );
    expect(breakingText(report)).toBe(
      'v1: spec.a: the field is gone; v1: spec.b: the field is gone; v1: spec.c: the field is gone; and 1 more',
    );
    const moved = compareDefinitions(definition('{}'), definition('{}', 'apiVersion: v2, scope: Cluster'));
    expect(breakingText(moved)).toBe('scope: changes from Namespaced to Cluster; v1: the version is gone');
  });

  it('sees columns, short names and labels alone', () => {
    const column =
      'additionalPrinterColumns: [{name: A, type: string, jsonPath: .spec.a}], shortNames: [x], metadata: {labels: {a: b}}';
    const {
      breaking,
      differs,
      changes: found,
    } = compareDefinitions(definition('{}'), definition('{}', column));
    expect([breaking, differs, found.map(({ path }) => path)]).toEqual([
      [],
      true,
      ['v1: additionalPrinterColumns', 'names.shortNames', 'metadata.labels["a"]'],
    ]);
  });
});
