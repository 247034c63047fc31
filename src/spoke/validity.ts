import type { Client, ResourceId } from '../kube/client.ts';
import { setCondition } from '../kube/conditions.ts';
import type { Condition, KubeObject } from '../kube/object.ts';
import { ignoring } from '../kube/status-error.ts';
import { errorText } from '../runtime/log.ts';
import type { Runtime } from '../runtime/runtime.ts';

/** Tells whoever wrote an object for the engine whether it is used, in its condition `Valid`. */
export function tellValidity(
  { clock, log }: Pick<Runtime, 'clock' | 'log'>,
  client: Client,
  resource: ResourceId,
  object: KubeObject,
  said: { readonly ok: boolean; readonly message: string },
): void {
  const { conditions: before } = (object['status'] ?? {}) as { conditions?: Condition[] };
  const { conditions, changed } = setCondition(
    before,
    {
      type: 'Valid',
      status: said.ok ? 'True' : 'False',
      reason: said.ok ? 'Compiled' : 'Invalid',
      message: said.message,
    },
    clock.now(),
  );
  if (!changed) return;
  const { name = '' } = object.metadata;
  const patch = { status: { conditions } };
  // It may be deleted meanwhile.
  ignoring(404, client.patch(resource, '', name, 'merge', patch, { subresource: 'status' })).catch(
    (error: unknown) =>
      log.warn('could not tell whether an object is used', {
        kind: resource.kind,
        name,
        why: errorText(error),
      }),
  );
}
