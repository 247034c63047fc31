import type { KubeObject } from '../../../kube/object.ts';
import { applyDefaults } from '../../../schema/defaults.ts';
import { clone, type JsonObject } from '../../../schema/json.ts';
import type { CompiledGraph } from '../compile/index.ts';

/**
 * The instance with the defaults that its graph states. An API server adds them to what it hands out, but a copy that was read before the
 * graph got a field does not have them, and nothing tells that it would have now.
 */
export function withDefaults(instance: KubeObject, { schema }: CompiledGraph): KubeObject {
  const spec = schema.properties?.['spec'];
  if (!spec) return instance;
  const written = instance['spec'] as JsonObject | undefined;
  const holder: JsonObject = written === undefined ? {} : { spec: clone(written) };
  applyDefaults(holder, { schema: { type: 'object', properties: { spec } }, resolve: () => undefined });
  return holder['spec'] === undefined ? instance : { ...instance, spec: holder['spec'] };
}
