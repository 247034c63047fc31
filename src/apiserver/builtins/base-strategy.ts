import type { KubeObject } from '../../kube/object.ts';
import { clone, isObject, type JsonObject } from '../../schema/json.ts';
import type { Strategy } from '../resource.ts';
import { assign } from './fields.ts';

/**
 * A strategy whose members are given, over the behaviour of most kinds: no generation, update without a
 * resourceVersion allowed, no creation by PUT, DELETE answered with a Status, dependents collected in the background.
 * `validateUpdate` is given as what an update must respect besides `validate`, which is put before it here. Kinds that
 * `validateTwice` tell what is wrong with an update once as an object and once as a change, and clients see both causes.
 */
export function strategy({
  validateTwice,
  ...members
}: Partial<Strategy> & { validateTwice?: true } = {}): Strategy {
  const { validate, validateUpdate } = members;
  const again = validateTwice === true ? validate : undefined;
  return {
    generation: 'none',
    allowUnconditionalUpdate: true,
    allowCreateOnUpdate: false,
    returnsDeleted: false,
    defaultPropagation: 'Background',
    fieldLabelNames: [],
    resetFields: { main: {}, status: {} },
    ...members,
    ...(validate && (validateUpdate || again)
      ? {
          validateUpdate: (object, old) => [
            ...validate(object),
            ...(again?.(object) ?? []),
            ...(validateUpdate?.(object, old) ?? []),
          ],
        }
      : {}),
  };
}

/** What server-side apply leaves to others on a kind with a status: the main resource's writers never own it. */
export function statusResetFields(...status: string[]): { main: JsonObject; status: JsonObject } {
  return { main: { 'f:status': {} }, status: fieldSet(status) };
}

/** A set of field paths (`metadata.labels`) in FieldsV1 form. */
export function fieldSet(paths: readonly string[]): JsonObject {
  const set: JsonObject = {};
  for (const path of paths) {
    let level = set;
    for (const name of path.split('.')) {
      const key = `f:${name}`;
      const found = level[key];
      const next: JsonObject = isObject(found) ? found : {};
      level[key] = next;
      level = next;
    }
  }
  return set;
}

/** A hook for `status` writes that takes `spec` from the stored object. */
export function keepSpec(object: KubeObject, old: KubeObject): void {
  keepField(object, old, 'spec');
}

/** The same, and of the metadata too: nothing but who owns what is the writer's. */
export function keepSpecAndMetadata(object: KubeObject, old: KubeObject): void {
  keepSpec(object, old);
  const { metadata } = object;
  for (const key of [
    'labels',
    'annotations',
    'finalizers',
    'ownerReferences',
    'deletionTimestamp',
    'generation',
  ] as const)
    assign(metadata as unknown as JsonObject, key, clone(old.metadata[key]));
}

export function keepField(object: KubeObject, old: KubeObject, key: string): void {
  assign(object, key, clone(old[key]));
}

/** A hook that gives new objects a status, whatever the client sent. */
export function initialStatus(status: JsonObject): (object: KubeObject) => void {
  return (object) => assign(object, 'status', clone(status));
}
