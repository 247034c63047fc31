import { parseRequestInfo, type RequestInfo } from '../../../apiserver/request/index.ts';
import type { Request } from '../../../kube/exchange.ts';
import { badRequest } from '../../../kube/status-error.ts';
import { parseLabelSelector, type Selector } from '../../../schema/label-selector.ts';

/** A request for the fleet: a Kubernetes path, with clusters in the query. */
export interface FleetRequest {
  readonly request: Request;
  readonly info: RequestInfo;
  /** Those that were named; undefined for all. */
  readonly names?: readonly string[];
  /** Over the labels of SpokeClusters. */
  readonly selector?: Selector;
  /** The path without the query. */
  readonly path: string;
  /** Without what is about clusters. */
  readonly query: URLSearchParams;
}

/** Reads `cluster=` (names, by comma or repeated) and `clusterSelector=`. Throws 400 for what is neither. */
export function readFleetRequest(request: Request): FleetRequest {
  const mark = request.path.indexOf('?');
  const path = mark < 0 ? request.path : request.path.slice(0, mark);
  const query = new URLSearchParams(mark < 0 ? '' : request.path.slice(mark + 1));
  const names = query
    .getAll('cluster')
    .flatMap((value) => value.split(','))
    .filter((name) => name !== '');
  const selectorText = query.get('clusterSelector');
  const selector = selectorText === null ? undefined : parseLabelSelector(selectorText);
  if (selector !== undefined && 'error' in selector) throw badRequest(`clusterSelector: ${selector.error}`);
  query.delete('cluster');
  query.delete('clusterSelector');
  const { headers, ...rest } = request;
  return {
    request: { ...rest, headers: { ...headers, accept: jsonOnly(headers.accept) } },
    info: parseRequestInfo(request.method, pathWith(path, query)),
    ...(names.length === 0 ? {} : { names: [...new Set(names)] }),
    ...(selector === undefined ? {} : { selector }),
    path,
    query,
  };
}

/** A path of a cluster with a query that differs in some values; `undefined` leaves one out. */
export function pathWith(
  path: string,
  query: URLSearchParams,
  changes: Readonly<Record<string, string | undefined>> = {},
): string {
  const changed = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) changed.delete(name);
    else changed.set(name, value);
  }
  const text = changed.toString();
  return text === '' ? path : `${path}?${text}`;
}

/** What is merged is read, and JSON is the form that is. */
function jsonOnly(accept: string | undefined): string {
  const forms = (accept ?? '').split(',').map((form) => form.trim());
  const json = forms.filter((form) => form.startsWith('application/json'));
  return json.length === 0 ? 'application/json' : json.join(',');
}
