import {
  BOOL,
  createEnvironment,
  DYN,
  type Environment,
  formatIssues,
  type Program,
} from '../../cel/index.ts';
import { type KubeObject, parseApiVersion } from '../../kube/object.ts';
import {
  type LabelSelector,
  matchesSelector,
  type Selector,
  selectorFromObject,
} from '../../schema/label-selector.ts';
import type { ResourceSelector } from './select.ts';

/** The labels of a namespace; `undefined` where it is not known. */
export type NamespaceLabels = (namespace: string) => Readonly<Record<string, string>> | undefined;

/** A selector that is ready to be asked. */
export interface CompiledSelector {
  /** What is wrong with it, each with the field. It selects nothing then. */
  readonly issues: readonly string[];
  selects(object: KubeObject, namespaces?: NamespaceLabels): boolean;
}

/** Cost units for an expression about one object: it is asked for each change of each object of the kind. */
const OBJECT_BUDGET = 50_000;
const MAX_EXPRESSION = 4096;

let environment: Environment | undefined;
const known = new WeakMap<ResourceSelector, CompiledSelector>();

/** Compiles a selector, once for each selector object. */
export function compiledSelector(selector: ResourceSelector): CompiledSelector {
  let compiled = known.get(selector);
  if (!compiled) {
    compiled = compile(selector);
    known.set(selector, compiled);
  }
  return compiled;
}

function compile(selector: ResourceSelector): CompiledSelector {
  const issues: string[] = [];
  const { kind, name, namespace } = selector;
  const { group } = parseApiVersion(selector.apiVersion);
  const labels = labelsOf(selector.labelSelector, 'labelSelector', issues);
  const namespaceLabels = labelsOf(selector.namespaceSelector, 'namespaceSelector', issues);
  const program = programOf(selector.expression, issues);
  if (issues.length > 0) return { issues, selects: () => false };
  return {
    issues,
    selects(object, namespaces): boolean {
      const { metadata } = object;
      if (object.kind !== kind) return false;
      if (object.apiVersion !== selector.apiVersion && parseApiVersion(object.apiVersion).group !== group)
        return false;
      if (name !== undefined && metadata.name !== name) return false;
      if (namespace !== undefined && (metadata.namespace ?? '') !== namespace) return false;
      if (labels && !matchesSelector(labels, metadata.labels ?? {})) return false;
      if (namespaceLabels && !isInNamespace(namespaceLabels, object, namespaces)) return false;
      return !program || program.evaluate({ object }, { budget: OBJECT_BUDGET }).value === true;
    },
  };
}

function labelsOf(
  selector: LabelSelector | undefined,
  field: string,
  issues: string[],
): Selector | undefined {
  if (selector === undefined) return undefined;
  const parsed = selectorFromObject(selector);
  if (parsed.issues.length > 0)
    issues.push(`${field}: ${parsed.issues.map((issue) => issue.detail).join('; ')}`);
  return parsed.selector;
}

function isInNamespace(
  selector: Selector,
  { kind, apiVersion, metadata }: KubeObject,
  namespaces: NamespaceLabels | undefined,
): boolean {
  if (selector.requirements.length === 0) return true;
  if (metadata.namespace !== undefined && metadata.namespace !== '') {
    const labels = namespaces?.(metadata.namespace);
    // A namespace that is not known yet has no labels that could be wrong: it is asked again when it comes.
    return labels !== undefined && matchesSelector(selector, labels);
  }
  return kind === 'Namespace' && apiVersion === 'v1' && matchesSelector(selector, metadata.labels ?? {});
}

function programOf(expression: string | undefined, issues: string[]): Program | undefined {
  if (expression === undefined) return undefined;
  // Not made before someone writes an expression: the libraries take memory.
  environment ??= createEnvironment({ variables: { object: DYN }, limits: { maxLength: MAX_EXPRESSION } });
  const compiled = environment.compile(expression);
  if (!compiled.program) {
    issues.push(`expression: ${formatIssues(expression, compiled.issues)}`);
    return undefined;
  }
  if (compiled.type !== DYN && compiled.type.kind !== BOOL.kind)
    issues.push('expression: it does not give true or false');
  return compiled.program;
}
