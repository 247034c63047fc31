import { DYN, type ObjectType, STRING, schemaType, type Type } from '../../../cel/index.ts';
import type { KubeObject } from '../../../kube/object.ts';
import { errorText, type Runtime } from '../../../runtime/index.ts';
import { clone, type JsonObject, numberAt, objectAt } from '../../../schema/json.ts';
import type { ObjectActions } from '../../controllers/actions.ts';
import type { Resource } from '../../resource.ts';
import type { ResourceLookup } from '../../rest/scope.ts';
import { parseKey, resourcePrefix } from '../../store/key.ts';
import type { Store } from '../../store/store.ts';
import type { PolicyExpression } from './expression.ts';
import { validatingPolicy } from './policy.ts';

/** Types against which a policy is checked at most. */
const MAX_TYPES = 10;
const RETRY_MS = 5000;

export interface ExpressionWarning {
  readonly fieldRef: string;
  readonly warning: string;
}

function kindText({ group, version, kind }: Resource): string {
  return `${group === '' ? '' : `${group}/`}${version}, Kind=${kind}`;
}

/** A resource's type as policies see objects: metadata may hold anything. */
function objectType(resource: Resource): Type {
  const type = schemaType(resource.type, { name: resource.kind, unknownFields: 'dyn' });
  if (type?.kind !== 'object') return DYN;
  const own: Readonly<Record<string, Type>> = { apiVersion: STRING, kind: STRING, metadata: DYN };
  const object: ObjectType = {
    ...type,
    field: (name) => {
      const known = Object.hasOwn(own, name) ? own[name] : undefined;
      return known ? { type: known } : type.field(name);
    },
    fieldNames: () => [...new Set([...Object.keys(own), ...type.fieldNames()])],
  };
  return object;
}

/** The resources that the rules of a policy name one by one. */
function namedResources(policy: ReturnType<typeof validatingPolicy>, lookup: ResourceLookup): Resource[] {
  const found = new Set<Resource>();
  for (const { apiGroups, apiVersions, resources } of policy.match.rules)
    for (const group of apiGroups)
      for (const version of apiVersions)
        for (const name of resources) {
          const resource = lookup.find(group, version, name);
          if (resource) found.add(resource);
        }
  return [...found].slice(0, MAX_TYPES);
}

/** What does not fit the types of the objects that a policy is about. */
export function typeWarnings(object: KubeObject, lookup: ResourceLookup): ExpressionWarning[] {
  const plain = validatingPolicy(object);
  const warnings = new Map<string, string[]>();
  const params = plain.paramKind && lookup.byKind(plain.paramKind.apiVersion, plain.paramKind.kind);
  for (const resource of namedResources(plain, lookup)) {
    const typed = validatingPolicy(object, {
      hasParams: plain.paramKind !== undefined,
      object: objectType(resource),
      ...(params ? { params: objectType(params) } : {}),
    });
    const note = (expression: PolicyExpression | undefined, path: string): void => {
      if (expression?.problem === undefined) return;
      const problem = expression.problem.replace(/^compilation failed: /, '');
      warnings.set(path, [...(warnings.get(path) ?? []), `${kindText(resource)}: ${problem}`]);
    };
    for (const [index, { expression, messageExpression }] of typed.validations.entries()) {
      note(expression, `spec.validations[${index}].expression`);
      note(messageExpression, `spec.validations[${index}].messageExpression`);
    }
  }
  return [...warnings].map(([fieldRef, texts]) => ({ fieldRef, warning: texts.join('\n') }));
}

export interface PolicyTypeChecking {
  readonly store: Store;
  readonly actions: Pick<ObjectActions, 'change'>;
  readonly resources: (cluster: string) => ResourceLookup;
}

/** Writes into the status of each new version of a ValidatingAdmissionPolicy what does not fit the types it is about. */
export function policyTypeChecking(
  runtime: Runtime,
  { store, actions, resources }: PolicyTypeChecking,
): { stop(): void } {
  let stopped = false;

  function check(key: string): void {
    const policy = stopped ? undefined : store.get(key)?.object;
    if (!policy || isChecked(policy)) return;
    const warnings = typeWarnings(policy, resources(parseKey(key).cluster));
    const { generation } = policy.metadata;
    const write = actions.change(
      key,
      (object) => {
        if (object.metadata.generation !== generation) return undefined; // its own event comes
        object.status = {
          ...clone(objectAt(object, 'status') ?? {}),
          observedGeneration: generation ?? 0,
          typeChecking:
            warnings.length === 0 ? {} : { expressionWarnings: warnings as unknown as JsonObject[] },
        } satisfies JsonObject;
        return object;
      },
      'status',
    );
    write.catch((error: unknown) => {
      if (stopped) return;
      runtime.log.warn('the type check of an admission policy failed', { key, error: errorText(error) });
      runtime.clock.after(RETRY_MS, () => check(key));
    });
  }

  const prefix = resourcePrefix('admissionregistration.k8s.io', 'validatingadmissionpolicies');
  const watch = store.watch(prefix, store.revision, (events) => {
    for (const { type, record } of events)
      if (type !== 'deleted') runtime.clock.defer(() => check(record.key));
  });
  for (const { key } of store.list(prefix).records) runtime.clock.defer(() => check(key));
  return {
    stop() {
      stopped = true;
      watch.stop();
    },
  };
}

function isChecked(policy: KubeObject): boolean {
  return numberAt(policy, 'status', 'observedGeneration') === policy.metadata.generation;
}
