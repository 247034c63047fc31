import { failure, StatusError } from '../../kube/status-error.ts';
import { PROTOBUF } from '../protobuf/index.ts';

export type Format = 'json' | 'yaml' | 'protobuf';

/** How the client wants an object written. */
export interface Representation {
  readonly format: Format;
  /** Another view of the object: a table of cells, or only its metadata. */
  readonly as?: 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList';
  /** Version of `meta.k8s.io` for {@link as}. */
  readonly metaVersion?: 'v1' | 'v1beta1';
  readonly pretty: boolean;
}

/** What an endpoint can answer with. */
export interface Offer {
  /** Whether objects can be had as tables and as their metadata. */
  readonly views: boolean;
  /** Whether there are tables among them; where nothing is said, as many as views. */
  readonly tables?: boolean;
  /** Whether what is answered has a protobuf form; asked only when a client wants that. */
  readonly protobuf: boolean | (() => boolean);
}

/** Media types of what is no resource. */
const PATH_TYPES = 'application/json, application/yaml';
const RESOURCE_TYPES = ['application/json', 'application/yaml', PROTOBUF];
const STREAM_TYPES = ['application/json;stream=watch', `${PROTOBUF};stream=watch`];

/** Media types of bodies that this server reads, as 415 lists them. */
export const ACCEPTED_TYPES: string = RESOURCE_TYPES.join(', ');

/** Of resources whose objects have a protobuf form. */
const EVERYTHING: Offer = { views: true, protobuf: true };

interface Clause {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly quality: number;
  /** 2 for a media type, 1 for any of a kind (`application/*`), 0 for any at all. */
  readonly precision: number;
}

/** Longer headers are cut: no client has more than a few alternatives. */
const MAX_HEADER = 8192;

function parseAccept(header: string): Clause[] {
  const clauses: Clause[] = [];
  for (const part of header.slice(0, MAX_HEADER).split(',')) {
    const [name = '', ...rest] = part.split(';').map((piece) => piece.trim());
    if (name === '') continue;
    const parameters = new Map<string, string>();
    for (const piece of rest) {
      const equals = piece.indexOf('=');
      if (equals > 0) parameters.set(piece.slice(0, equals).trim(), piece.slice(equals + 1).trim());
    }
    const quality = Number(parameters.get('q') ?? '1');
    const type = name === '*' ? '*/*' : name;
    clauses.push({
      type,
      parameters,
      quality: Number.isFinite(quality) ? quality : 1,
      precision: type === '*/*' ? 0 : type.endsWith('/*') ? 1 : 2,
    });
  }
  // A stable sort keeps the client's order among equals.
  return clauses.sort((a, b) => b.quality - a.quality || b.precision - a.precision);
}

/** The formats that a media range means, the first one preferred. */
function formatsOf(type: string): readonly Format[] {
  switch (type) {
    case '*/*':
    case 'application/*':
      return ['json', 'yaml', 'protobuf'];
    case 'application/json':
      return ['json'];
    case 'application/yaml':
      return ['yaml'];
    case PROTOBUF:
      return ['protobuf'];
    default:
      return [];
  }
}

function isPretty(query: URLSearchParams, userAgent: string): boolean {
  const asked = query.get('pretty');
  if (asked !== null) return asked !== 'false' && asked !== '0';
  return /^(curl|Wget|Mozilla\/5\.0)/.test(userAgent);
}

export function notAcceptable(offered: string = RESOURCE_TYPES.join(', ')): Error {
  return failure(406, 'NotAcceptable', `only the following media types are accepted: ${offered}`);
}

/**
 * Refuses what a route of a built-in resource has no media type for, before anything else of the request is looked at:
 * parameters do not count, and `application/*` is no media type here. Throws 406. `more` are media types of that route alone.
 */
export function checkRoute(
  headers: Readonly<Record<string, string>>,
  streams: boolean,
  more: readonly string[] = [],
): void {
  const offered = [...more, ...RESOURCE_TYPES];
  checkTypes(headers, offered, streams ? [...offered, ...STREAM_TYPES] : offered);
}

/** Refuses requests for other media types than those of a route, as {@link checkRoute} does. `listed` are told. */
export function checkTypes(
  headers: Readonly<Record<string, string>>,
  offered: readonly string[],
  listed: readonly string[] = offered,
): void {
  const { accept = '' } = headers;
  if (accept === '') return;
  const fits = accept
    .slice(0, MAX_HEADER)
    .split(',')
    .some((part) => {
      const type = part.slice(0, part.includes(';') ? part.indexOf(';') : undefined).trim();
      return type === '*/*' || offered.includes(type);
    });
  if (fits) return;
  throw failure(
    406,
    'NotAcceptable',
    `406: Not Acceptable\n\nAvailable representations: ${listed.join(', ')}`,
    {},
  );
}

/**
 * Chooses the representation by the `accept` header. Clauses that name a view which is unknown, or that does not fit, are
 * passed over, as are formats that what is answered does not have. Throws 406 when nothing is left.
 */
export function negotiate(
  headers: Readonly<Record<string, string>>,
  query: URLSearchParams,
  { views, tables = views, protobuf }: Offer = EVERYTHING,
): Representation {
  const pretty = isPretty(query, headers['user-agent'] ?? '');
  const { accept = '' } = headers;
  if (accept === '') return { format: 'json', pretty };
  for (const { type, parameters } of parseAccept(accept)) {
    const view = viewOf(parameters);
    if (view === undefined || (view !== WHOLE && !views) || (view.as === 'Table' && !tables)) continue;
    for (const format of formatsOf(type)) {
      if (format === 'protobuf') {
        // The metadata of every object has a protobuf form; tables are for people.
        if (view.as === 'Table') continue;
        if (view === WHOLE && !(typeof protobuf === 'boolean' ? protobuf : protobuf())) continue;
      }
      return { format, ...view, pretty: pretty || parameters.get('pretty') === '1' };
    }
  }
  throw notAcceptable(views ? undefined : PATH_TYPES);
}

type NegotiatedView = Pick<Representation, 'as' | 'metaVersion'>;

const WHOLE: NegotiatedView = {};

/** The view that parameters ask for; `undefined` where there is none like that. */
function viewOf(parameters: ReadonlyMap<string, string>): NegotiatedView | undefined {
  const stream = parameters.get('stream') ?? '';
  if (stream !== '' && stream !== 'watch') return undefined;
  const [as, group, version] = ['as', 'g', 'v'].map((name) => parameters.get(name));
  if (as === undefined && group === undefined && version === undefined) return WHOLE;
  if (group !== 'meta.k8s.io' || (version !== 'v1' && version !== 'v1beta1')) return undefined;
  if (as !== 'Table' && as !== 'PartialObjectMetadata' && as !== 'PartialObjectMetadataList')
    return undefined;
  return { as, metaVersion: version };
}

/**
 * Chooses the representation of a watch stream: there are no streams of YAML, and asking for them first is refused. Throws 406.
 */
export function negotiateStream(
  headers: Readonly<Record<string, string>>,
  query: URLSearchParams,
  offer: Offer = EVERYTHING,
): Representation {
  const representation = negotiate(headers, query, offer);
  if (representation.format === 'yaml') throw notAcceptable(STREAM_TYPES.join(', '));
  return representation;
}

/** How a Status that answers a request for `path` is written: as asked where a Status has that form, otherwise as JSON. */
export function negotiateStatus(headers: Readonly<Record<string, string>>, path: string): Representation {
  const mark = path.indexOf('?');
  const query = new URLSearchParams(mark < 0 ? '' : path.slice(mark + 1));
  try {
    return negotiate(headers, query, { views: false, protobuf: true });
  } catch (error) {
    // What it says is more important than its form.
    if (error instanceof StatusError) return { format: 'json', pretty: false };
    throw error;
  }
}
