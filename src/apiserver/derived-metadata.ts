import type { ObjectMeta } from '../kube/object.ts';

/** The metadata that an object has of its own: without annotations that are made when it is shown as a whole. */
export function ownMetadata(metadata: ObjectMeta, derived: readonly string[] | undefined): ObjectMeta {
  const { annotations, ...rest } = metadata;
  if (derived === undefined || annotations === undefined) return metadata;
  if (!derived.some((name) => name in annotations)) return metadata;
  const own = Object.entries(annotations).filter(([name]) => !derived.includes(name));
  return own.length === 0 ? rest : { ...rest, annotations: Object.fromEntries(own) };
}
