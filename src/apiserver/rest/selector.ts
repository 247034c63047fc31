import type { KubeObject } from '../../kube/object.ts';
import { badRequest } from '../../kube/status-error.ts';
import { parseFieldSelector } from '../../schema/field-selector.ts';
import { matchesSelector, parseLabelSelector } from '../../schema/label-selector.ts';
import type { Resource } from '../resource.ts';

/** Which objects of a collection are meant. */
export interface Selection {
  /** Undefined when everything matches. */
  readonly matches: ((object: KubeObject) => boolean) | undefined;
  /** The one name that a field selector pins down. */
  readonly name: string | undefined;
  /** Whether nothing but that name is asked for. */
  readonly nameOnly: boolean;
}

/** Parses label and field selector of a request. Throws 400 for syntax and for fields that the kind does not offer. */
export function parseSelection(resource: Resource, labelSelector: string, fieldSelector: string): Selection {
  const tests: ((object: KubeObject) => boolean)[] = [];
  let name: string | undefined;
  if (labelSelector !== '') {
    const selector = parseLabelSelector(labelSelector);
    if ('error' in selector) throw badRequest(selector.error);
    tests.push((object) => matchesSelector(selector, object.metadata.labels));
  }
  if (fieldSelector !== '') {
    const terms = parseFieldSelector(fieldSelector);
    if ('error' in terms) throw badRequest(terms.error);
    for (const { field, operator, value } of terms) {
      const equal = operator !== '!=';
      if (field === 'metadata.name') {
        if (equal) name = value;
        tests.push((object) => (object.metadata.name === value) === equal);
      } else if (field === 'metadata.namespace' && offersNamespace(resource)) {
        tests.push((object) => ((object.metadata.namespace ?? '') === value) === equal);
      } else if (resource.strategy.fieldLabelNames.includes(field)) {
        tests.push((object) => ((resource.strategy.fieldLabels?.(object)[field] ?? '') === value) === equal);
      } else throw unknownField(resource, field);
    }
  }
  if (tests.length === 0) return { matches: undefined, name, nameOnly: false };
  const [first, ...others] = tests;
  if (first !== undefined && others.length === 0)
    return { matches: first, name, nameOnly: name !== undefined };
  return { matches: (object) => tests.every((test) => test(object)), name, nameOnly: false };
}

/** Kinds with fields of their own offer the namespace where they have one; all others in any case. */
function offersNamespace({ namespaced, custom, strategy }: Resource): boolean {
  return namespaced || (!custom && strategy.fieldLabelNames.length === 0);
}

function unknownField(resource: Resource, field: string): Error {
  if (resource.group === 'batch' && resource.resource === 'jobs')
    return badRequest(`field label ${JSON.stringify(field)} not supported for Job`);
  return badRequest(
    resource.custom || resource.strategy.fieldLabelNames.length > 0
      ? `field label not supported: ${field}`
      : `${JSON.stringify(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`,
  );
}
