import type { SpaceCaller } from '../../../apiserver/index.ts';
import { type Request, type Response, upgradeProtocol } from '../../../kube/exchange.ts';
import { badRequest, failure, notFound } from '../../../kube/status-error.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import { isObject, type JsonObject } from '../../../schema/json.ts';
import { jsonText, parseJson } from '../../../schema/json-text.ts';
import { matchesSelector } from '../../../schema/label-selector.ts';
import type { AccessibleFleet, SpokeAccess } from '../spoke-access.ts';
import { askClusters } from './ask-clusters.ts';
import { decodeVersions, isComposite } from './composite-version.ts';
import { listFleet, nothingToShow } from './fleet-list.ts';
import { type FleetRequest, pathWith, readFleetRequest } from './fleet-request.ts';
import { CLUSTER_ANNOTATION } from './fleet-table.ts';
import { watchFleet } from './fleet-watch.ts';

export interface FleetAccessOptions {
  readonly fleet: AccessibleFleet;
  readonly spokes: SpokeAccess;
  /** Calls back when clusters come, go or are relabelled. Returns what ends that. */
  readonly onMembers: (listener: () => void) => () => void;
}

/** One endpoint for the API of all clusters: what `serve` gets is a Kubernetes path. Every cluster authorizes the user itself. */
export function fleetAccess(
  runtime: Runtime,
  options: FleetAccessOptions,
): (request: Request, caller: SpaceCaller) => Promise<Response> {
  const { fleet, spokes } = options;

  /** Clusters that were asked for and that the user may look into at the hub, in order of names. Throws 403 and 404. */
  async function clustersOf({ names, selector, path }: FleetRequest, caller: SpaceCaller): Promise<string[]> {
    const looking: Request = { method: 'GET', path, headers: {} };
    const all = names === undefined && (await caller.may(spokes.right('', looking)));
    const chosen: string[] = [];
    for (const name of names ?? fleet.names()) {
      const may = all || (await caller.may(spokes.right(name, looking)));
      if (!may && names) throw noLook(name);
      const cluster = fleet.cluster(name);
      if (!cluster && names) throw notFound('core.oam.dev', 'spokeclusters', name);
      if (may && cluster && (!selector || matchesSelector(selector, cluster.metadata.labels)))
        chosen.push(name);
    }
    if (chosen.length === 0) {
      if (fleet.names().length === 0) throw failure(503, 'ServiceUnavailable', 'the hub has no clusters');
      if (all) throw failure(404, 'NotFound', 'no cluster has the labels that clusterSelector asks for');
      throw failure(
        403,
        'Forbidden',
        'forbidden: none of the clusters that were asked for is one that the user may get spokeclusters/proxy of',
      );
    }
    return chosen.sort();
  }

  async function askCluster(name: string, request: Request, caller: SpaceCaller): Promise<Response> {
    const right = spokes.right(name, request);
    if (!(await caller.may(right)))
      throw failure(
        403,
        'Forbidden',
        `forbidden: the user may not ${right.verb} spokeclusters/proxy of the cluster ${name}`,
      );
    return spokes.serve(name, request, caller);
  }

  /** Resolves when the cluster is connected. */
  async function whenUp(name: string, signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      const link = fleet.link(name);
      if (link?.up === true) return;
      await new Promise<void>((resolve, reject) => {
        const leave: (() => void)[] = [];
        const settle = (act: () => void) => (): void => {
          for (const each of leave) each();
          act();
        };
        const abort = settle(() => reject(signal.reason));
        signal.addEventListener('abort', abort, { once: true });
        leave.push(() => signal.removeEventListener('abort', abort));
        // A cluster without a link gets one in time; that the inventory tells.
        leave.push((link?.onChange ?? options.onMembers)(settle(resolve)));
      });
    }
  }

  function seenUntil(name: string): string | undefined {
    return fleet.cluster(name)?.status?.clusterInfo?.lastSyncedTime;
  }

  /** The one cluster that has an object. Throws 404, and 409 where several have it. */
  async function ownerOf(
    asked: FleetRequest,
    clusters: readonly string[],
    caller: SpaceCaller,
  ): Promise<string> {
    const { info, path } = asked;
    const [only, second] = clusters;
    if (only !== undefined && second === undefined) return only;
    const object = objectPath(path, info.parts.length);
    const headers = {
      accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json',
    };
    const answers = await askClusters(runtime, clusters, asked.request.signal, (cluster, signal) =>
      askCluster(cluster, { method: 'GET', path: object, headers, signal }, caller),
    );
    const found = answers.filter((answer) => 'body' in answer).map(({ cluster }) => cluster);
    const [owner, other] = found;
    if (owner !== undefined && other === undefined) return owner;
    if (owner !== undefined)
      throw failure(
        409,
        'Conflict',
        `${info.resource} ${JSON.stringify(info.name)} is on ${found.length} clusters: ${found.slice(0, 10).join(', ')}. Name one with ?cluster=, or ask it at /clusters/<name>`,
      );
    throw nothingToShow(answers);
  }

  async function one(
    asked: FleetRequest,
    clusters: readonly string[],
    caller: SpaceCaller,
  ): Promise<Response> {
    const { request, info, path, query } = asked;
    const body = jsonBody(request);
    const annotated = body && clusterIn(body);
    const [only, second] = asked.names ?? [];
    let cluster = second === undefined ? only : undefined;
    if (cluster !== undefined && annotated !== undefined && annotated !== cluster)
      throw badRequest(`the object says that it is of the cluster ${annotated}, the query says ${cluster}`);
    cluster ??= annotated;
    if (cluster === undefined && info.name === '') {
      const [single, more] = clusters;
      if (single === undefined || more !== undefined)
        throw badRequest(
          `which cluster? Name it with ?cluster=, or in the object's annotation ${CLUSTER_ANNOTATION}; there are ${clusters.length}`,
        );
      cluster = single;
    }
    if (cluster !== undefined && !clusters.includes(cluster)) throw noLook(cluster);
    cluster ??= await ownerOf(asked, clusters, caller);
    const own = body && Buffer.from(jsonText(ownForm(body, cluster)));
    // What a single cluster is asked for it answers itself, in whatever form.
    return askCluster(
      cluster,
      { ...request, path: pathWith(path, query), ...(own ? { body: own } : {}) },
      caller,
    );
  }

  return async (original, caller) => {
    const asked = readFleetRequest(original);
    const { info, request } = asked;
    const clusters = await clustersOf(asked, caller);
    if (!info.isResourceRequest) {
      if (info.method !== 'GET' && info.method !== 'HEAD')
        throw failure(405, 'MethodNotAllowed', 'of the fleet, only resources are written');
      const up = clusters.find((name) => fleet.link(name)?.up === true);
      if (up === undefined) throw failure(503, 'ServiceUnavailable', 'none of the clusters is connected');
      // What there is to be asked for, one of them tells for all.
      return askCluster(up, { ...original, path: pathWith(asked.path, asked.query) }, caller);
    }
    const ask = (name: string, each: Request): Promise<Response> => askCluster(name, each, caller);
    if (info.verb === 'list') return listFleet(runtime, asked, clusters, ask, seenUntil);
    if (info.verb === 'watch') {
      if (upgradeProtocol(request) !== undefined)
        throw badRequest('a watch of the fleet is a stream of lines, no WebSocket');
      return watchFleet(runtime, asked, {
        clusters: () => clustersOf(asked, caller),
        ask,
        onMembers: options.onMembers,
        whenUp,
      });
    }
    if (info.verb === 'deletecollection')
      throw failure(405, 'MethodNotAllowed', 'collections are deleted of one cluster, at /clusters/<name>');
    return one({ ...asked, request: original }, clusters, caller);
  };
}

function noLook(name: string): Error {
  return failure(
    403,
    'Forbidden',
    `forbidden: the user may not get spokeclusters/proxy of the cluster ${JSON.stringify(name)}`,
  );
}

/** The path of the object whose subresource a path is of. `parts` is what there is from the resource on. */
function objectPath(path: string, parts: number): string {
  const segments = path.split('/').filter((segment) => segment !== '');
  return `/${segments.slice(0, segments.length - Math.max(0, parts - 2)).join('/')}`;
}

function jsonBody({ body, headers }: Request): JsonObject | undefined {
  const type = headers['content-type'] ?? 'application/json';
  if (
    body === undefined ||
    body.byteLength === 0 ||
    !/^application\/(?:[a-z-]+\+)?(?:json|yaml)\b/.test(type)
  )
    return undefined;
  try {
    const value = parseJson(Buffer.from(body).toString('utf8'));
    return isObject(value) ? value : undefined;
  } catch (error) {
    // YAML, or what the cluster will say is no JSON.
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function clusterIn({ metadata }: JsonObject): string | undefined {
  const annotations = isObject(metadata) && isObject(metadata.annotations) ? metadata.annotations : {};
  const cluster = annotations[CLUSTER_ANNOTATION];
  return typeof cluster === 'string' && cluster !== '' ? cluster : undefined;
}

/** An object as its cluster knows it: with the cluster's own version, and without the mark of where it was read. */
function ownForm(object: JsonObject, cluster: string): JsonObject {
  if (!isObject(object.metadata)) return object;
  const { annotations, resourceVersion, ...metadata } = object.metadata;
  const version =
    typeof resourceVersion === 'string' && isComposite(resourceVersion)
      ? decodeVersions(resourceVersion).get(cluster)
      : resourceVersion;
  const { [CLUSTER_ANNOTATION]: _cluster, ...others } = isObject(annotations) ? annotations : {};
  return {
    ...object,
    metadata: {
      ...metadata,
      ...(annotations === undefined ? {} : { annotations: isObject(annotations) ? others : annotations }),
      ...(version === undefined ? {} : { resourceVersion: version }),
    },
  };
}
