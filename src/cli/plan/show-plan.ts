import type { ObjectRef } from '../../kube/object.ts';
import { ManifestError, readManifestFiles } from '../diff/manifest-files.ts';
import type { HubAccess } from '../hub-access.ts';
import { type AskingOptions, ask } from '../output.ts';
import { type Asked, computePlan, type FleetPlan } from './compute-plan.ts';
import { type SavedPlan, savePlan, shortHash } from './plan-file.ts';
import { planText } from './text.ts';

export interface PlanOptions extends AskingOptions {
  readonly filename?: readonly string[];
  readonly recursive: boolean;
  readonly namespace?: string;
  readonly name?: string;
}

/** Errors end with more than 1, so that scripts can tell them from changes. */
const FAILED = 2;

/** `atoll plan`. Ends with 0 where nothing changes, 1 where something does. */
export function showPlan(options: PlanOptions): Promise<void> {
  return ask(
    options,
    async ({ hub, paint, print }) => {
      const plan = await computePlan(hub.client, hub.spokeClient, askedOf(options, hub.namespace));
      const { inputs, ...shown } = plan;
      savePlan(options.dir, savedPlan(options, plan, hub));
      print(shown, (harmless) => planText(harmless, paint, shortHash(plan.hash)));
      return plan.radius.clusters === 0 ? 0 : 1;
    },
    FAILED,
  );
}

/** What the user asks for, read again each time: a plan holds no manifest. */
export function askedOf(
  {
    filename = [],
    recursive = false,
    namespace,
    name,
  }: Pick<SavedPlan, 'filename' | 'recursive' | 'namespace' | 'name'>,
  defaultNamespace: string,
): Asked {
  if ((name === undefined) === (filename.length === 0))
    throw new ManifestError(['name either files, with -f, or a propagation']);
  if (name !== undefined) return { propagation: propagationRef(name, namespace ?? defaultNamespace) };
  return {
    manifests: readManifestFiles(filename, recursive),
    namespace: { name: namespace ?? defaultNamespace, explicit: namespace !== undefined },
  };
}

/** `web`, `shop/web`, `propagation/web` or `clusterpropagation/base`. */
function propagationRef(name: string, namespace: string): ObjectRef {
  const parts = name.split('/');
  const apiVersion = 'atoll.dev/v1alpha1';
  const [first = '', second = '', third] = parts;
  const kind = first.toLowerCase();
  if (kind === 'clusterpropagation' || kind === 'cprop')
    return { apiVersion, kind: 'ClusterPropagation', namespace: '', name: second };
  const named = kind === 'propagation' || kind === 'prop' ? parts.slice(1) : parts;
  if (named.length > 2 || third === '') throw new ManifestError([`${name} names no propagation`]);
  const [a = '', b] = named;
  return b === undefined
    ? { apiVersion, kind: 'Propagation', namespace, name: a }
    : { apiVersion, kind: 'Propagation', namespace: a, name: b };
}

function savedPlan(options: PlanOptions, plan: FleetPlan, hub: HubAccess): SavedPlan {
  const { filename, recursive, namespace, name } = options;
  return {
    hash: plan.hash,
    server: hub.server,
    context: hub.context,
    ...(filename === undefined || filename.length === 0 ? {} : { filename, recursive }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
    inputs: plan.inputs,
  };
}
