import type { Handler } from '../../kube/exchange.ts';
import type { Runtime } from '../../runtime/index.ts';
import { type BindingControllerOptions, startBindingController } from './binding-controller.ts';
import { tenancyDefinitions } from './kinds.ts';
import { startWorkspaceController, type WorkspaceControllerOptions } from './workspace-controller.ts';

/** Defines the kinds in the cluster `root` and starts their controllers. Rejects when they cannot be defined. */
export async function startWorkspaces(
  runtime: Runtime,
  options: WorkspaceControllerOptions & BindingControllerOptions,
): Promise<{ stop(): Promise<void> }> {
  await Promise.all(tenancyDefinitions().map((definition) => define(options.handler, definition)));
  const controllers = [startWorkspaceController(runtime, options), startBindingController(runtime, options)];
  return {
    async stop() {
      await Promise.all(controllers.map((controller) => controller.stop()));
    },
  };
}

async function define(handler: Handler, definition: Record<string, unknown>): Promise<void> {
  const { name } = definition.metadata as { name: string };
  const { status } = await handler({
    method: 'PATCH',
    path: `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}?fieldManager=atoll&force=true`,
    headers: { 'content-type': 'application/apply-patch+yaml' },
    body: Buffer.from(JSON.stringify(definition)),
  });
  if (status >= 300) throw new Error(`the definition ${name} could not be applied: status ${status}`);
}
