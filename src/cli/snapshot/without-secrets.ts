import type { KubeObject } from '../../kube/object.ts';
import { isObject } from '../../schema/json.ts';

const LEFT_OUT = '(left out)';

/** Holds a copy of a whole object, also of a Secret. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';
/** Of a Secret, or of a template for one. */
const SECRET_FIELDS = new Set(['data', 'stringData']);
const SECRET_KINDS = /Secret(Override)?$/;
/** What a graph uses of an object on another cluster, without its kind beside it. */
const RETURNED = 'fields';
/** Base64 of what is compressed begins so. Nobody can tell what is in it: a Dispatch carries the object of the hub that it is from. */
const COMPRESSED = 'H4sI';

/**
 * An object as others may see it: left out are the values of Secrets, also where a Secret is a template within another object,
 * what patches set (their target may be a Secret), and packed content.
 */
export function withoutSecrets(object: KubeObject): KubeObject {
  const {
    annotations,
    managedFields: _fields,
    ...metadata
  } = object.metadata as KubeObject['metadata'] & {
    managedFields?: unknown;
  };
  const { [LAST_APPLIED]: _copy, ...others } = annotations ?? {};
  const shown = {
    ...object,
    metadata: { ...metadata, ...(annotations === undefined ? {} : { annotations: others }) },
  };
  return scrubbed(shown, false) as KubeObject;
}

function scrubbed(value: unknown, inSecret: boolean): unknown {
  if (Array.isArray(value)) return value.map((item) => scrubbed(item, inSecret));
  if (typeof value === 'string') return value.startsWith(COMPRESSED) ? LEFT_OUT : value;
  if (!isObject(value)) return value;
  const { kind } = value;
  const isSecret = inSecret || (typeof kind === 'string' && SECRET_KINDS.test(kind));
  // KubeFed's overrides need no `op`; within of a document Karmada's have a `subPath`.
  const isPatch = typeof value['path'] === 'string' || typeof value['subPath'] === 'string';
  // What a SpokeCluster merges into an object of an intent, which may be a Secret.
  const isMerged = typeof value['component'] === 'string' && isObject(value['properties']);
  const isPacked = typeof value['encoding'] === 'string';
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      const hidden =
        (isSecret && SECRET_FIELDS.has(key)) ||
        (isPatch && (key === 'value' || key === 'expression')) ||
        (isPacked && key === 'data');
      const isOfSecret = isSecret || key === RETURNED || (isMerged && key === 'properties');
      return [key, hidden ? leftOut(item) : scrubbed(item, isOfSecret)];
    }),
  );
}

/** Keys of a map are no secret. No digest stands for a value: short ones could be guessed by it. */
function leftOut(value: unknown): unknown {
  if (value === undefined || value === null) return value;
  if (!isObject(value)) return LEFT_OUT;
  return Object.fromEntries(Object.keys(value).map((key) => [key, LEFT_OUT]));
}
