import type { Response } from '../../kube/exchange.ts';
import { formatApiVersion } from '../../kube/object.ts';
import { failure } from '../../kube/status-error.ts';
import { jsonText } from '../../schema/json-text.ts';
import {
  bodyOf,
  includeObjectOf,
  jsonResponse,
  type Representation,
  valueResponse,
} from '../request/index.ts';
import { tableOf } from '../table/index.ts';
import { internalType } from './decode.ts';
import { type Listing, partialObject } from './list.ts';
import { listHead, listText } from './list-text.ts';
import { type ResourceRequest, rendering, representationOf } from './resource-request.ts';
import type { Scope, Written } from './scope.ts';
import { type View, viewOf } from './view.ts';

/** Longer queries share a place with others of their path. */
const MAX_LIST_KEY = 1024;

/** One object in the representation that was asked for. */
export function respondView(
  asked: ResourceRequest,
  scope: Scope,
  status: number,
  view: View,
  known?: Representation,
): Response {
  const representation = known ?? representationOf(asked, scope);
  const { as, metaVersion = 'v1' } = representation;
  const how = rendering(asked, representation);
  if (as === undefined)
    return representation.format === 'protobuf'
      ? valueResponse(status, view.object, how)
      : jsonResponse(status, bodyOf(view.bytes), how);
  if (as === 'PartialObjectMetadata')
    return valueResponse(
      status,
      partialObject(view.object, metaVersion, scope.resource.strategy.derivedAnnotations),
      how,
    );
  if (as === 'PartialObjectMetadataList')
    throw unfitView(as, `not a list (*${internalType(scope.resource)})`);
  return valueResponse(
    status,
    tableOf(scope.resource, [view.object], {
      now: scope.server.runtime.clock.now(),
      includeObject: includeObjectOf(asked.info.query),
      version: metaVersion,
      metadata: { resourceVersion: view.object.metadata.resourceVersion ?? '' },
    }),
    how,
  );
}

export function respondWritten(
  asked: ResourceRequest,
  scope: Scope,
  written: Written,
  representation: Representation,
): Response {
  const view: View = written.record
    ? viewOf(scope.resource, written.record)
    : { object: written.object, bytes: Buffer.from(jsonText(written.object)) };
  return respondView(asked, scope, written.outcome === 'created' ? 201 : 200, view, representation);
}

export function respondList(
  asked: ResourceRequest,
  scope: Scope,
  listing: Listing,
  representation: Representation,
): Response {
  const { as, metaVersion = 'v1' } = representation;
  const how = rendering(asked, representation);
  if (representation.format === 'protobuf')
    return valueResponse(200, listOf(scope, listing, representation), how);
  if (as === undefined) {
    const { resource } = scope;
    return jsonResponse(200, scope.server.listTexts.of(listKey(asked, scope), resource, listing), how);
  }
  if (as === 'Table')
    return valueResponse(
      200,
      tableOf(
        scope.resource,
        listing.views.map((view) => view.object),
        {
          now: scope.server.runtime.clock.now(),
          includeObject: includeObjectOf(asked.info.query),
          version: metaVersion,
          metadata: listing.metadata,
        },
      ),
      how,
    );
  if (as === 'PartialObjectMetadata') throw unfitView(as, `a list (*${internalType(scope.resource)}List)`);
  // A list that nothing was put into has none.
  if (listing.views.length === 0)
    return valueResponse(
      200,
      { kind: as, apiVersion: `meta.k8s.io/${metaVersion}`, metadata: listing.metadata, items: null },
      how,
    );
  const items = listing.views.map((view) => ({
    bytes: Buffer.from(
      JSON.stringify(partialObject(view.object, metaVersion, scope.resource.strategy.derivedAnnotations)),
    ),
    from: 0,
  }));
  const head = listHead(`meta.k8s.io/${metaVersion}`, 'PartialObjectMetadataList', listing.metadata);
  return jsonResponse(200, listText(head, items), how);
}

/** 406 for a view that is for one object where there are many, or the other way round. */
function unfitView(as: string, what: string): Error {
  return failure(406, 'NotAcceptable', `you requested ${as}, but the requested object is ${what}`);
}

/** What is listed, but for the revision. */
function listKey({ info, request }: ResourceRequest, scope: Scope): string {
  return `${scope.cluster} ${scope.consumersOf ?? ''} ${request.path.length > MAX_LIST_KEY ? info.path : request.path}`;
}

/** A listing as one value. Its items have their kinds, which the list's form may leave out. */
function listOf(
  scope: Scope,
  { metadata, views }: Listing,
  { as, metaVersion = 'v1' }: Representation,
): unknown {
  const { group, version, listKind } = scope.resource;
  const items = views.map(({ object }) => object);
  if (as === undefined)
    return { kind: listKind, apiVersion: formatApiVersion(group, version), metadata, items };
  if (as !== 'PartialObjectMetadataList')
    throw unfitView(as, `a list (*${internalType(scope.resource)}List)`);
  return { kind: as, apiVersion: `meta.k8s.io/${metaVersion}`, metadata, items };
}
