import type { KubeObject } from '../../kube/object.ts';
import { systemRuntime } from '../../runtime/runtime.ts';
import { readManifestFiles } from '../diff/manifest-files.ts';
import { type AskingOptions, ask } from '../output.ts';
import { carryOut, type FederationPlan, planFederation, planFiles, planManifests } from './federate.ts';
import { disabledText, enabledText, federationText, manifestsText } from './text.ts';
import {
  directedType,
  disableType,
  enableTypes,
  federatedTypeIn,
  readTypes,
  type TypeOptions,
  typeManifests,
  typeNamed,
} from './types.ts';

export interface EnableOptions extends AskingOptions, TypeOptions {
  readonly filename?: string;
  readonly dryRun: boolean;
}

/** `atoll enable`: makes types ones that are federated. */
export function enable(names: readonly string[], options: EnableOptions): Promise<void> {
  return ask(options, async ({ hub }) => {
    const directed =
      options.filename === undefined
        ? [{ names, options }]
        : readManifestFiles([options.filename], false).map(({ object }) => {
            const { name, options: more } = directedType(object);
            return { names: [name], options: { ...options, ...more } };
          });
    for (const { names: wanted, options: how } of directed) {
      if (options.output !== undefined) {
        const types = await readTypes(hub.client);
        const objects: KubeObject[] = [];
        for (const name of wanted)
          objects.push(
            ...(await typeManifests(hub.client, federatedTypeIn(typeNamed(name, types), how), how)),
          );
        write(manifestsText(objects, options.output));
      } else {
        const { clock } = systemRuntime();
        write(enabledText(await enableTypes(clock, hub.client, wanted, how), options.dryRun));
      }
    }
    return 0;
  });
}

export interface DisableOptions extends AskingOptions, TypeOptions {
  readonly deleteCrd: boolean;
  readonly dryRun: boolean;
}

/** `atoll disable`: federates a type no longer. */
export function disable(name: string, options: DisableOptions): Promise<void> {
  return ask(options, async ({ hub, print }) => {
    const { clock } = systemRuntime();
    print(await disableType(clock, hub.client, name, options), (done) => disabledText(done, options.dryRun));
    return 0;
  });
}

export interface FederateCommand extends AskingOptions, TypeOptions {
  readonly filename?: readonly string[];
  readonly namespace?: string;
  readonly enableType: boolean;
  readonly contents: boolean;
  readonly skipApiResources: readonly string[];
  readonly dryRun: boolean;
}

/** `atoll federate`: makes federated objects of objects at the hub, or prints those of files. */
export function federate(
  type: string | undefined,
  name: string | undefined,
  options: FederateCommand,
): Promise<void> {
  return ask(options, async ({ hub }) => {
    const how = { ...options, namespace: options.namespace ?? hub.namespace };
    const files = options.filename;
    let plan: FederationPlan;
    if (files !== undefined) {
      if (type !== undefined) throw new Error('give a type and a name, or files with -f, not both');
      const objects = readManifestFiles(files, false).map(({ object }) => object);
      plan = await planFiles(hub.client, objects, how);
    } else if (type === undefined || name === undefined)
      throw new Error('say what to federate: atoll federate TYPE NAME, or files with -f');
    else plan = await planFederation(hub.client, type, name, how);
    // What files hold is not at the hub: who asks for it wants to see it.
    const format = options.output ?? (files === undefined || options.dryRun ? undefined : 'yaml');
    if (format !== undefined) write(manifestsText(await planManifests(hub.client, plan, how), format));
    else {
      const { clock } = systemRuntime();
      await carryOut(clock, hub.client, plan, how);
      write(federationText(plan, options.dryRun));
    }
    return 0;
  });
}

function write(text: string): void {
  process.stdout.write(text);
}
