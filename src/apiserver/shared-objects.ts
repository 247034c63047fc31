import { formatApiVersion, type KubeObject } from '../kube/object.ts';
import { seededRandom } from '../runtime/index.ts';
import { contentsOf } from './bootstrap.ts';
import type { Catalogue } from './catalogue/index.ts';
import { type SharedObject, type TemplateSet, templateSet } from './clusters/index.ts';
import { builtinApiServices, type StandingObject } from './controllers/index.ts';
import { flowControlObjects } from './flow-objects.ts';
import { aggregated } from './rbac-source.ts';
import type { Resource } from './resource.ts';
import { prepareCreate } from './rest/create.ts';
import { listTexts } from './rest/list-text.ts';
import { inFlight, type RestServer } from './rest/scope.ts';
import { CONTROLLER_USER } from './rest/server-actions.ts';

export interface SharedOptions {
  /** The cluster whose resources are the built-in ones. */
  readonly cluster: string;
  readonly catalogue: Catalogue;
  readonly builtIn: readonly Resource[];
  readonly standing: readonly StandingObject[];
  /** For the contents of namespaces; `undefined` where no controller makes them. */
  readonly caCertificate: string | undefined;
}

/** Namespaces that every logical cluster has from the beginning. */
const NAMESPACES: readonly string[] = ['default', 'kube-system', 'kube-public', 'kube-node-lease'];

/** By catalogue and by all else that they follow from. Most processes have one; those with many servers make them once. */
const made = new WeakMap<Catalogue, Map<string, TemplateSet>>();

/** The templates of what every logical cluster has from its beginning. */
export function sharedTemplates(
  server: Pick<RestServer, 'runtime' | 'store' | 'resources'>,
  options: SharedOptions,
): TemplateSet {
  const { cluster, catalogue, builtIn, standing, caCertificate } = options;
  const served = builtIn.map(({ group, version, resource, storageVersion }) =>
    [group, version, resource, storageVersion].join('/'),
  );
  const key = JSON.stringify([cluster, served, standing, caCertificate ?? null]);
  const known = made.get(catalogue) ?? new Map<string, TemplateSet>();
  made.set(catalogue, known);
  let templates = known.get(key);
  if (!templates) {
    // What is random of them is left out: whether they were made before must not show in what comes after.
    const runtime = { ...server.runtime, random: seededRandom(0) };
    templates = templateSet(sharedObjects({ ...server, runtime }, options));
    known.set(key, templates);
  }
  return templates;
}

/** What every logical cluster has from its beginning, as the pipeline would have made it. Kinds not served are left out. */
function sharedObjects(
  server: Pick<RestServer, 'runtime' | 'store' | 'resources'>,
  options: SharedOptions,
): SharedObject[] {
  const { cluster, catalogue, caCertificate } = options;
  const rbac = catalogue.bootstrapRbac();
  const lookup = server.resources(cluster);
  // Nobody is asked about these, and the namespaces that they are in are among them.
  const unasked: RestServer = {
    ...server,
    inFlight: inFlight(),
    listTexts: listTexts(),
    admission: { mutate: () => {}, validate: () => {}, charge: () => undefined, mayWait: () => false },
  };

  function create(object: KubeObject): SharedObject[] {
    const resource = lookup.byKind(object.apiVersion, object.kind);
    if (!resource) return [];
    const scope = {
      server: unasked,
      cluster,
      resource,
      namespace: object.metadata.namespace ?? '',
      user: CONTROLLER_USER,
      warn: () => {},
    };
    const options = { fieldManager: 'atoll', fieldValidation: 'Ignore', dryRun: false } as const;
    const decision = prepareCreate(scope, object, options);
    if (decision.action !== 'put')
      throw new Error(`${object.kind} ${object.metadata.name ?? ''} is not made at once`);
    return [{ group: resource.group, resource: resource.resource, object: decision.object }];
  }

  /** Objects that are complete, with the names of their fields' owners left out. */
  function complete(object: KubeObject): SharedObject[] {
    const resource = lookup.byKind(object.apiVersion, object.kind);
    if (!resource || formatApiVersion(resource.group, resource.storageVersion) !== object.apiVersion)
      return [];
    return [{ group: resource.group, resource: resource.resource, object }];
  }

  const roles = rbac.filter(({ kind }) => kind === 'ClusterRole');
  const others = rbac.filter(({ kind }) => kind !== 'ClusterRole');
  const namespaces = NAMESPACES.map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }));
  return [
    ...namespaces.flatMap(create),
    ...(caCertificate === undefined
      ? []
      : NAMESPACES.flatMap((name) => contentsOf(name, caCertificate))
    ).flatMap(create),
    ...[...aggregated(roles), ...others].flatMap(create),
    ...options.standing.flatMap(({ object }) => complete(object)),
    ...flowControlObjects().flatMap(complete),
    ...builtinApiServices(lookup.all.filter((resource) => !resource.custom)).flatMap(complete),
  ];
}
