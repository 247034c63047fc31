import { formatApiVersion, type KubeObject } from '../kube/object.ts';
import { seededRandom } from '../runtime/index.ts';
import { isObject } from '../schema/json.ts';
import { contentsOf } from './bootstrap.ts';
import type { Catalogue, Release } from './catalogue/index.ts';
import { type SharedObject, type TemplateSet, templateSet } from './clusters/index.ts';
import { builtinApiServices, type StandingObject } from './controllers/index.ts';
import { FLOW_PRODUCER, flowControlObjects } from './flow-objects.ts';
import { aggregated } from './rbac-source.ts';
import type { Resource } from './resource.ts';
import { prepareCreate } from './rest/create.ts';
import { listTexts } from './rest/list-text.ts';
import { inFlight, type RestServer, type Scope, type WriteOptions } from './rest/scope.ts';
import { CONTROLLER_USER } from './rest/server-actions.ts';
import { track } from './rest/tracking.ts';

export interface SharedOptions {
  /** The cluster whose resources are the built-in ones. */
  readonly cluster: string;
  readonly catalogue: Catalogue;
  readonly builtIn: readonly Resource[];
  /** Whose roles there are. */
  readonly release: Release;
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
  const { cluster, catalogue, builtIn, release, standing, caCertificate } = options;
  const served = builtIn.map(({ group, version, resource, storageVersion }) =>
    [group, version, resource, storageVersion].join('/'),
  );
  const key = JSON.stringify([cluster, served, release, standing, caCertificate ?? null]);
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
  const { cluster, catalogue, caCertificate, release } = options;
  const rbac = catalogue.bootstrapRbac(release);
  const lookup = server.resources(cluster);
  // Nobody is asked about these, and the namespaces that they are in are among them.
  const unasked: RestServer = {
    ...server,
    inFlight: inFlight(),
    listTexts: listTexts(),
    admission: { mutate: () => {}, validate: () => {}, charge: () => undefined, mayWait: () => false },
  };

  function scopeOf(resource: Resource, object: KubeObject): Scope {
    return {
      server: unasked,
      cluster,
      resource,
      namespace: object.metadata.namespace ?? '',
      user: CONTROLLER_USER,
      warn: () => {},
    };
  }

  function create(object: KubeObject): SharedObject[] {
    const resource = lookup.byKind(object.apiVersion, object.kind);
    if (!resource) return [];
    const decision = prepareCreate(scopeOf(resource, object), object, writing(SERVER));
    if (decision.action !== 'put')
      throw new Error(`${object.kind} ${object.metadata.name ?? ''} is not made at once`);
    return [{ group: resource.group, resource: resource.resource, object: decision.object }];
  }

  /** Objects that are complete but for the owners of their fields. */
  function complete(object: KubeObject, manager: string = SERVER): SharedObject[] {
    const resource = lookup.byKind(object.apiVersion, object.kind);
    if (!resource || formatApiVersion(resource.group, resource.storageVersion) !== object.apiVersion)
      return [];
    const { managedFields: others = [], ...metadata } = object.metadata;
    const asked = withoutAllocated({ ...object, metadata });
    const { managedFields = [] } = track(
      scopeOf(resource, object),
      asked,
      undefined,
      writing(manager),
    ).metadata;
    return [
      {
        group: resource.group,
        resource: resource.resource,
        object: { ...object, metadata: { ...metadata, managedFields: [...others, ...managedFields] } },
      },
    ];
  }

  const roles = rbac.filter(({ kind }) => kind === 'ClusterRole');
  const others = rbac.filter(({ kind }) => kind !== 'ClusterRole');
  const namespaces = NAMESPACES.map((name) => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, labels: { 'kubernetes.io/metadata.name': name } },
  }));
  return [
    ...namespaces.flatMap(create),
    ...(caCertificate === undefined
      ? []
      : NAMESPACES.flatMap((name) => contentsOf(name, caCertificate))
    ).flatMap(create),
    // Who fills in aggregated roles is a controller.
    ...[...(caCertificate === undefined ? roles : aggregated(roles)), ...others].flatMap(create),
    ...options.standing.flatMap(({ object }) => complete(object)),
    ...flowControlObjects().flatMap((object) => complete(object, FLOW_PRODUCER)),
    ...builtinApiServices(lookup.all.filter((resource) => !resource.custom)).flatMap((object) =>
      complete(object),
    ),
  ];
}

/** Whom clients find named as the writer of what a server itself has made. */
const SERVER = 'kube-apiserver';

function writing(fieldManager: string): WriteOptions {
  return { fieldManager, fieldValidation: 'Ignore', dryRun: false };
}

/** Fields that a service is given have no owner. */
function withoutAllocated(object: KubeObject): KubeObject {
  if (object.kind !== 'Service' || !isObject(object.spec)) return object;
  const { clusterIPs: _addresses, ipFamilies: _families, ...spec } = object.spec;
  return { ...object, spec };
}
