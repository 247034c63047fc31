import { failure } from '../../kube/status-error.ts';

/** How the client wants an object written. */
export interface Representation {
  readonly format: 'json' | 'yaml';
  /** Another view of the object: a table of cells, or only its metadata. */
  readonly as?: 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList';
  /** Version of `meta.k8s.io` for {@link as}. */
  readonly metaVersion?: 'v1' | 'v1beta1';
  readonly pretty: boolean;
}

/** Media types that this server writes, as 406 and 415 list them. */
export const OFFERED_TYPES = 'application/json, application/yaml';

/** Media types of bodies that this server reads, as 415 lists them. */
export const ACCEPTED_TYPES = 'application/json, application/yaml, application/vnd.kubernetes.protobuf';

interface Clause {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly quality: number;
}

function parseAccept(header: string): Clause[] {
  const clauses: Clause[] = [];
  for (const part of header.slice(0, 8192).split(',')) {
    const [type = '', ...rest] = part.split(';').map((piece) => piece.trim());
    if (type === '') continue;
    const parameters = new Map<string, string>();
    for (const piece of rest) {
      const equals = piece.indexOf('=');
      if (equals > 0)
        parameters.set(piece.slice(0, equals).trim().toLowerCase(), piece.slice(equals + 1).trim());
    }
    const quality = Number(parameters.get('q') ?? '1');
    clauses.push({ type: type.toLowerCase(), parameters, quality: Number.isFinite(quality) ? quality : 1 });
  }
  // A stable sort keeps the client's order among equals.
  return clauses.sort((a, b) => b.quality - a.quality);
}

function formatOf(type: string): 'json' | 'yaml' | undefined {
  if (type === 'application/json' || type === '*/*' || type === 'application/*') return 'json';
  if (type === 'application/yaml') return 'yaml';
  return undefined;
}

function isPretty(query: URLSearchParams, userAgent: string): boolean {
  const asked = query.get('pretty');
  if (asked !== null) return asked !== 'false' && asked !== '0';
  return /^(curl|Wget|Mozilla\/5\.0)/.test(userAgent);
}

export function notAcceptable(offered: string = OFFERED_TYPES): Error {
  return failure(406, 'NotAcceptable', `only the following media types are accepted: ${offered}`);
}

/**
 * Chooses the representation by the `accept` header. Clauses that name a view which is unknown, or that does not fit
 * (`tables` false), are passed over. Throws 406 when nothing is left.
 */
export function negotiate(
  headers: Readonly<Record<string, string>>,
  query: URLSearchParams,
  tables: boolean = true,
): Representation {
  const pretty = isPretty(query, headers['user-agent'] ?? '');
  const accept = headers.accept ?? '';
  if (accept === '') return { format: 'json', pretty };
  for (const clause of parseAccept(accept)) {
    const format = formatOf(clause.type);
    if (format === undefined || clause.quality <= 0) continue;
    const as = clause.parameters.get('as');
    if (as === undefined) return { format, pretty };
    const metaVersion = clause.parameters.get('v');
    if (clause.parameters.get('g') !== 'meta.k8s.io') continue;
    if (metaVersion !== 'v1' && metaVersion !== 'v1beta1') continue;
    if (!tables) continue;
    if (as === 'Table' || as === 'PartialObjectMetadata' || as === 'PartialObjectMetadataList')
      return { format, as, metaVersion, pretty };
  }
  throw notAcceptable();
}
