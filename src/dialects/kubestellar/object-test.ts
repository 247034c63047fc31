import type { ResourceId } from '../../kube/client.ts';
import type { KubeObject } from '../../kube/object.ts';
import {
  type LabelSelector,
  matchesSelector,
  type Selector,
  selectorFromObject,
} from '../../schema/label-selector.ts';
import type { ObjectTest } from './types.ts';

/** The labels of a namespace; `undefined` where it is not known. */
export type NamespaceLabels = (namespace: string) => Readonly<Record<string, string>> | undefined;

/** A clause that is ready to be asked. */
export interface CompiledTest {
  /** What is wrong with it, each with the field. It passes nothing then. */
  readonly issues: readonly string[];
  /** Whether objects of a kind may pass at all. */
  reaches(kind: Pick<ResourceId, 'group' | 'resource'>): boolean;
  passes(
    kind: Pick<ResourceId, 'group' | 'resource'>,
    object: KubeObject,
    namespaces: NamespaceLabels,
  ): boolean;
}

const ALL = '*';

/** Compiles a clause. `labels`: how its field with selectors of the objects themselves is called, for messages. */
export function compileObjectTest(test: ObjectTest, labels: string = 'objectSelectors'): CompiledTest {
  const issues: string[] = [];
  const resources = namesOf(test.resources, 'resources', issues);
  const namespaces = namesOf(test.namespaces, 'namespaces', issues);
  const objectNames = namesOf(test.objectNames, 'objectNames', issues);
  const namespaceSelectors = selectorsOf(test.namespaceSelectors, 'namespaceSelectors', issues);
  const objectSelectors = selectorsOf(test.objectSelectors, labels, issues);
  const group = test.apiGroup ?? undefined;
  const tells =
    group !== undefined ||
    [resources, namespaces, objectNames].some((names) => names !== undefined) ||
    [namespaceSelectors, objectSelectors].some((list) => list !== undefined && !list.some(isEmpty));
  if (!tells)
    issues.push(
      `it tells nothing apart: say at least one of apiGroup, resources, namespaces, namespaceSelectors, objectNames and ${labels}`,
    );
  const isSound = issues.length === 0;

  function reaches(kind: Pick<ResourceId, 'group' | 'resource'>): boolean {
    return (
      isSound && (group === undefined || kind.group === group) && (resources?.has(kind.resource) ?? true)
    );
  }

  return {
    issues,
    reaches,
    passes(kind, { metadata }, labelsOf): boolean {
      if (!reaches(kind)) return false;
      const { name = '', namespace = '', labels: own = {} } = metadata;
      if (namespaces && !(namespace !== '' && namespaces.has(namespace))) return false;
      if (objectNames && !objectNames.has(name)) return false;
      if (objectSelectors && !objectSelectors.some((selector) => matchesSelector(selector, own)))
        return false;
      if (!namespaceSelectors || namespaceSelectors.some(isEmpty)) return true;
      if (namespace === '') return false;
      // One that is not known yet is looked at when it comes.
      const known = labelsOf(namespace);
      return known !== undefined && namespaceSelectors.some((selector) => matchesSelector(selector, known));
    },
  };
}

/** `undefined` where all names pass. */
function namesOf(
  names: readonly string[] | null | undefined,
  field: string,
  issues: string[],
): ReadonlySet<string> | undefined {
  if (!names || names.length === 0) return undefined;
  if (!names.includes(ALL)) return new Set(names);
  if (names.length > 1) issues.push(`${field}: '*' must be the only element`);
  return undefined;
}

function selectorsOf(
  selectors: readonly LabelSelector[] | null | undefined,
  field: string,
  issues: string[],
): readonly Selector[] | undefined {
  if (!selectors || selectors.length === 0) return undefined;
  return selectors.map((item, index) => {
    const { selector, issues: found } = selectorFromObject(item, `${field}[${index}]`);
    issues.push(...found.map(({ path, detail }) => `${path}: ${detail}`));
    return selector;
  });
}

function isEmpty(selector: Selector): boolean {
  return selector.requirements.length === 0 && selector.nothing !== true;
}
