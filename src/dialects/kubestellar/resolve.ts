import { digestOf } from '../../engine/digest.ts';
import { portable } from '../../engine/render/portable.ts';
import type { ResourceId } from '../../kube/client.ts';
import { asJson, type KubeObject } from '../../kube/object.ts';
import { isObject, type JsonValue } from '../../schema/json.ts';
import { type LabelSelector, matchesSelector, selectorFromObject } from '../../schema/label-selector.ts';
import { combineModulations } from './modulation.ts';
import { isNeverListed, neverListed } from './never-listed.ts';
import { type CompiledTest, compileObjectTest, type NamespaceLabels } from './object-test.ts';
import type { BindingPolicy, BindingSpec, EdgePlacement, ListedObject, Modulation } from './types.ts';

/** What a policy selects, ready to be asked. */
export interface CompiledPolicy {
  /** What is wrong with it. Nothing is changed while there is anything. */
  readonly issues: readonly string[];
  readonly clauses: readonly CompiledClause[];
}

interface CompiledClause {
  readonly test: CompiledTest;
  readonly modulation: Modulation;
}

/** Objects of a kind, as they are at the hub now. */
export interface Stock {
  readonly kind: ResourceId;
  readonly objects: readonly KubeObject[];
}

const MAX_ISSUES = 20;

export function compilePolicy({ spec = {} }: BindingPolicy): CompiledPolicy {
  const issues = clusterIssues(spec.clusterSelectors, 'spec.clusterSelectors');
  return compileClauses(
    (spec.downsync ?? []).map((clause) => ({ test: compileObjectTest(clause), modulation: clause })),
    issues,
  );
}

/** The same of a placement by locations, whose clauses call one field otherwise. */
export function compileEdgePlacement({ spec = {} }: EdgePlacement): CompiledPolicy {
  const issues = clusterIssues(spec.locationSelectors, 'spec.locationSelectors');
  const modulation: Modulation =
    spec.wantSingletonReportedState === true ? { wantSingletonReportedState: true } : {};
  return compileClauses(
    (spec.downsync ?? []).map(({ labelSelectors, ...clause }) => ({
      test: compileObjectTest(
        { ...clause, ...(labelSelectors ? { objectSelectors: labelSelectors } : {}) },
        'labelSelectors',
      ),
      modulation,
    })),
    issues,
  );
}

function compileClauses(clauses: readonly CompiledClause[], issues: string[]): CompiledPolicy {
  clauses.forEach(({ test }, index) => {
    issues.push(...test.issues.map((issue) => `spec.downsync[${index}].${issue}`));
  });
  return { issues: issues.slice(0, MAX_ISSUES), clauses };
}

function clusterIssues(selectors: readonly LabelSelector[] | undefined, field: string): string[] {
  return (selectors ?? []).flatMap((selector, index) =>
    selectorFromObject(selector, `${field}[${index}]`).issues.map(({ path, detail }) => `${path}: ${detail}`),
  );
}

/** Whether a policy may select objects of a kind: which kinds have to be watched for it. */
export function reachesKind({ clauses }: CompiledPolicy, kind: ResourceId): boolean {
  return !isNeverListed(kind) && clauses.some(({ test }) => test.reaches(kind));
}

/** Whether a policy selects an object as it is. */
export function selectsObject(
  { clauses }: CompiledPolicy,
  kind: ResourceId,
  object: KubeObject,
  namespaces: NamespaceLabels,
): boolean {
  return clauses.some(({ test }) => test.passes(kind, object, namespaces));
}

/** Names of what some selectors mean, sorted. */
export function selectLabelled(
  selectors: readonly LabelSelector[] | undefined,
  items: Iterable<{ readonly name: string; readonly labels: Readonly<Record<string, string>> }>,
): string[] {
  const compiled = (selectors ?? []).map((selector) => selectorFromObject(selector).selector);
  const out: string[] = [];
  for (const { name, labels } of items)
    if (compiled.some((selector) => matchesSelector(selector, labels))) out.push(name);
  return [...new Set(out)].sort();
}

/** What a Binding says when a policy is resolved. */
export interface Resolution {
  readonly spec: BindingSpec;
  /** Of what its objects say, without what changes by itself: equal where nobody changed anything. */
  readonly content: string;
}

export interface ResolveOptions {
  readonly stocks: Iterable<Stock>;
  readonly namespaces: NamespaceLabels;
  readonly destinations: readonly string[];
  /** Of the Binding as it is. What is in it for a kind that cannot be read now stays. */
  readonly previous?: { readonly spec?: BindingSpec; readonly content?: string };
  readonly unreadable?: (listed: ListedObject) => boolean;
}

/** The Binding of a policy. Sorted, and the same for the same content: whoever resolves again has nothing to write. */
export function resolvePolicy(policy: CompiledPolicy, options: ResolveOptions): Resolution {
  const { previous = {}, unreadable } = options;
  const before = new Map(listedIn(previous.spec).map((listed) => [listedKey(listed), listed]));
  const found: { listed: ListedObject; content: string }[] = [];
  for (const { kind, objects } of options.stocks) {
    const reaching = isNeverListed(kind) ? [] : policy.clauses.filter(({ test }) => test.reaches(kind));
    if (reaching.length === 0) continue;
    for (const object of objects) {
      const passing = reaching.filter(({ test }) => test.passes(kind, object, options.namespaces));
      if (passing.length === 0 || neverListed(object) !== undefined) continue;
      const content = contentOf(object);
      if (content === undefined) continue;
      const modulation = combineModulations(passing.map((clause) => clause.modulation));
      found.push({ listed: listedObject(kind, object, modulation), content });
    }
  }
  for (const listed of unreadable ? before.values() : [])
    if (unreadable?.(listed) === true) found.push({ listed, content: '' });
  found.sort((a, b) => compareListed(a.listed, b.listed));
  const content = digestOf(found.map(({ listed, content: one }) => `${listedKey(listed)} ${one}`)).slice(-16);
  // A status that was written moves the resource version of an object, and changes nothing of what it says.
  const isSame = content === previous.content;
  const pinned = found.map(({ listed }) => {
    const resourceVersion = isSame ? before.get(listedKey(listed))?.resourceVersion : undefined;
    return resourceVersion === undefined ? listed : { ...listed, resourceVersion };
  });
  const clusterScope = pinned.filter(({ namespace }) => namespace === undefined);
  const namespaceScope = pinned.filter(({ namespace }) => namespace !== undefined);
  return {
    spec: {
      workload: {
        ...(clusterScope.length === 0 ? {} : { clusterScope }),
        ...(namespaceScope.length === 0 ? {} : { namespaceScope }),
      },
      destinations: [...options.destinations].sort().map((clusterId) => ({ clusterId })),
    },
    content,
  };
}

/** All that a Binding lists. */
export function listedIn(spec: BindingSpec | undefined): readonly ListedObject[] {
  const { clusterScope = [], namespaceScope = [] } = spec?.workload ?? {};
  return [...clusterScope.map(({ namespace: _none, ...listed }) => listed), ...namespaceScope];
}

/** A key of what is listed, whatever version it is read in. */
export function listedKey({ group = '', resource, namespace = '', name }: ListedObject): string {
  return `${group}/${resource}/${namespace}/${name}`;
}

function listedObject(kind: ResourceId, { metadata }: KubeObject, modulation: Modulation): ListedObject {
  const { name = '', namespace = '', resourceVersion = '' } = metadata;
  return {
    group: kind.group,
    version: kind.version,
    resource: kind.resource,
    ...(namespace === '' ? {} : { namespace }),
    name,
    resourceVersion,
    ...modulation,
  };
}

function compareListed(a: ListedObject, b: ListedObject): number {
  const [left, right] = [listedKey(a), listedKey(b)];
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Whether two states of an object are the same for all policies: a status was written, or nothing. */
export function sameContent(a: KubeObject, b: KubeObject): boolean {
  return (
    a.metadata.uid === b.metadata.uid &&
    a.metadata.deletionTimestamp === b.metadata.deletionTimestamp &&
    (a.metadata.ownerReferences?.length ?? 0) === (b.metadata.ownerReferences?.length ?? 0) &&
    contentOf(a) !== undefined &&
    contentOf(a) === contentOf(b)
  );
}

const contents = new WeakMap<KubeObject, string>();

/** As deep as the embedded API server lets objects be; others let them be deeper than functions that call themselves can follow. */
const MAX_DEPTH = 500;

/** `undefined` where it nests too deeply to be worked on: one such object must not stop all that are selected with it. */
function contentOf(object: KubeObject): string | undefined {
  let content = contents.get(object);
  if (content === undefined && !isDeeper(asJson(object), MAX_DEPTH)) {
    content = digestOf(portable(object));
    contents.set(object, content);
  }
  return content;
}

function isDeeper(value: JsonValue, levels: number): boolean {
  let level: readonly JsonValue[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > levels) return true;
    level = level.flatMap((item) => {
      const members = Array.isArray(item) ? item : isObject(item) ? Object.values(item) : [];
      return members.filter((member) => typeof member === 'object' && member !== null);
    });
  }
  return false;
}
