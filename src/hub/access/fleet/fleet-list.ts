import { warningHeader } from '../../../apiserver/request/index.ts';
import type { Request, Response } from '../../../kube/exchange.ts';
import { failure, type Status, StatusError } from '../../../kube/status-error.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../schema/json.ts';
import { jsonText } from '../../../schema/json-text.ts';
import { askClusters, type ClusterAnswer, type MissingCluster } from './ask-clusters.ts';
import {
  decodeContinue,
  decodeVersions,
  encodeContinue,
  encodeVersions,
  isComposite,
} from './composite-version.ts';
import { type FleetRequest, pathWith } from './fleet-request.ts';
import { fleetTable, located } from './fleet-table.ts';

/** How a request gets to a cluster as its user. Rejects with the `StatusError` of a refusal. */
export type AskCluster = (cluster: string, request: Request) => Promise<Response>;

/** Until when a cluster was seen that is missing now. */
export type SeenUntil = (cluster: string) => string | undefined;

/** Beyond that many the warnings say only how many there are. */
const WARNINGS = 10;

/**
 * Lists a collection on all `clusters` at once. The answer is a list or Table of everything, in the order of clusters, with a
 * version that holds all of theirs; `missing` in it and warnings beside it name the clusters whose part is not there. In
 * chunks, each takes its share of the limit from every cluster that has more. Throws where no cluster had an answer.
 */
export async function listFleet(
  runtime: Runtime,
  asked: FleetRequest,
  clusters: readonly string[],
  ask: AskCluster,
  seenUntil: SeenUntil,
): Promise<Response> {
  const { request, path, query } = asked;
  const token = query.get('continue') ?? '';
  const begun = token === '' ? undefined : decodeContinue(token);
  const versions = new Map(begun?.versions);
  const waiting = begun ? clusters.filter((name) => begun.continues.has(name)) : clusters;
  const limit = Number(query.get('limit') ?? '0') || 0;
  const now = limit > 0 ? waiting.slice(0, limit) : waiting;
  const share = limit > 0 ? String(Math.max(1, Math.floor(limit / now.length))) : undefined;
  const version = query.get('resourceVersion') ?? '';
  const known = isComposite(version) ? decodeVersions(version) : undefined;

  const answers = await askClusters(runtime, now, request.signal, (cluster, signal) => {
    const next = begun?.continues.get(cluster) ?? '';
    const at = known ? known.get(cluster) : version || undefined;
    const changed = pathWith(path, query, {
      limit: share,
      continue: next === '' ? undefined : next,
      resourceVersion: next === '' ? at : undefined,
      resourceVersionMatch:
        next === '' && at !== undefined ? (query.get('resourceVersionMatch') ?? undefined) : undefined,
    });
    return ask(cluster, { ...request, path: changed, signal });
  });

  const continues = new Map<string, string>(waiting.slice(now.length).map((name) => [name, '']));
  for (const answer of answers) {
    if (!('body' in answer)) continue;
    const { resourceVersion, continue: more } = metadataOf(answer.body);
    if (typeof resourceVersion === 'string') versions.set(answer.cluster, resourceVersion);
    if (typeof more === 'string' && more !== '') continues.set(answer.cluster, more);
  }
  const missing = answers
    .filter((answer) => 'status' in answer)
    .map((answer) => missingOf(answer, seenUntil));
  const good = answers.filter((answer) => 'body' in answer);
  const [first] = good;
  if (first === undefined && continues.size === 0) throw nothingToShow(answers);
  const metadata = {
    resourceVersion: encodeVersions(versions),
    ...(continues.size === 0 ? {} : { continue: encodeContinue({ versions, continues }) }),
  };
  const list = { ...merged(good), metadata, ...(missing.length === 0 ? {} : { missing }) };
  return {
    status: 200,
    headers: {
      'content-type': 'application/json',
      'cache-control': 'no-cache, private',
      ...(missing.length === 0 ? {} : { warning: warningHeader(warningsOf(missing)) }),
    },
    body: Buffer.from(jsonText(list)),
  };
}

function merged(answers: readonly { cluster: string; body: JsonObject }[]): JsonObject {
  const [first] = answers;
  if (first === undefined) return { kind: 'List', apiVersion: 'v1', items: [] };
  const { kind, apiVersion } = first.body;
  const head = {
    ...(kind === undefined ? {} : { kind }),
    ...(apiVersion === undefined ? {} : { apiVersion }),
  };
  if (kind !== 'Table')
    return {
      ...head,
      items: answers.flatMap(({ cluster, body }) =>
        arrayOf(body.items)
          .filter(isObject)
          .map((item) => located(item, cluster)),
      ),
    };
  const table = fleetTable();
  // Columns first: a cluster that comes later may know more of them.
  const own = answers.map(({ body }) => table.learn(body.columnDefinitions));
  const rows = answers.flatMap(({ cluster, body }, index) =>
    table.rows(cluster, own[index] ?? [], arrayOf(body.rows)),
  );
  return { ...head, columnDefinitions: [...table.definitions], rows };
}

function missingOf(answer: ClusterAnswer & { status: Status }, seenUntil: SeenUntil): MissingCluster {
  const { cluster, status } = answer;
  const seen = seenUntil(cluster);
  return {
    cluster,
    reason: status.reason ?? 'Unknown',
    message: status.message ?? '',
    ...(seen === undefined ? {} : { seenUntil: seen }),
  };
}

function warningsOf(missing: readonly MissingCluster[]): string[] {
  const shown = missing.slice(0, WARNINGS).map(({ cluster, message, seenUntil }) => {
    const seen = seenUntil === undefined ? '' : `, last seen ${seenUntil}`;
    return `missing: what is on the cluster ${cluster} (${message.replace(/\. What was last known: .*$/s, '')}${seen})`;
  });
  const more = missing.length - shown.length;
  return more === 0 ? shown : [...shown, `missing: ${more} more clusters`];
}

/** What every cluster says is the answer; where they differ, the first and how many there are. */
export function nothingToShow(answers: readonly ClusterAnswer[]): StatusError {
  const statuses = answers.filter((answer) => 'status' in answer).map(({ status }) => status);
  const [first] = statuses;
  if (first === undefined) return failure(503, 'ServiceUnavailable', 'there is no cluster to ask');
  const alike = statuses.every(({ code }) => code === first.code);
  if (alike && first.code !== undefined && first.code < 500) return new StatusError(first);
  const told = answers
    .slice(0, WARNINGS)
    .map((answer) => `${answer.cluster}: ${'status' in answer ? (answer.status.message ?? '') : ''}`);
  return failure(
    503,
    'ServiceUnavailable',
    `none of ${answers.length} clusters answered: ${told.join('; ')}`,
  );
}

function metadataOf(body: JsonObject): JsonObject {
  return isObject(body.metadata) ? body.metadata : {};
}

function arrayOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}
