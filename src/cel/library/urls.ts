import { BOOL, listType, mapType, opaqueType, STRING, type Type } from '../types/type.ts';
import { List } from '../values/list.ts';
import { mapOf } from '../values/map.ts';
import { CelError, Opaque, type OpaqueKind, type Value } from '../values/value.ts';
import { nominal, traversal } from './cost.ts';
import { type FunctionDeclaration, globalOverload, type Library, memberOverload } from './function.ts';

const URL_TYPE: Type = opaqueType('kubernetes.URL');

interface ParsedUrl {
  readonly text: string;
  readonly scheme: string;
  readonly host: string;
  readonly path: string;
  readonly query: string;
}

const urlKind: OpaqueKind<ParsedUrl> = {
  type: URL_TYPE,
  name: 'kubernetes.URL',
  equals: (a, b) => a.text === b.text,
  toText: (url) => url.text,
  size: (url) => url.text.length,
};

const SCHEME = /^([A-Za-z][A-Za-z0-9+.-]*):/;
const BAD_ESCAPE = /%(?![0-9A-Fa-f]{2})/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const CONTROL = /[\u0000-\u001f\u007f]/;
const HOST = /^(?:[A-Za-z0-9\-._~!$&'()*+,;=:[\]<>"]|%[0-9A-Fa-f]{2}|[\u0080-\uffff])*$/;

/** What Go takes for the URI of a request: absolute, or an absolute path; `#` has no meaning. */
function parseUrl(text: string): ParsedUrl | { readonly error: string } {
  const fail = (why: string): { error: string } => ({
    error: `URL parse error during conversion from string: parse ${JSON.stringify(text.slice(0, 128))}: ${why}`,
  });
  if (CONTROL.test(text)) return fail('net/url: invalid control character in URL');
  if (text === '') return fail('empty url');
  if (text === '*') return { text, scheme: '', host: '', path: '*', query: '' };
  const scheme = SCHEME.exec(text)?.[1] ?? '';
  if (scheme === '' && text.startsWith(':')) return fail('missing protocol scheme');
  let rest = scheme === '' ? text : text.slice(scheme.length + 1);
  const question = rest.indexOf('?');
  const query = question < 0 ? '' : rest.slice(question + 1);
  if (question >= 0) rest = rest.slice(0, question);
  const lower = scheme.toLowerCase();
  if (!rest.startsWith('/')) {
    return lower === ''
      ? fail('invalid URI for request')
      : { text, scheme: lower, host: '', path: '', query };
  }
  let host = '';
  if (lower !== '' && rest.startsWith('//')) {
    const slash = rest.indexOf('/', 2);
    const authority = slash < 0 ? rest.slice(2) : rest.slice(2, slash);
    rest = slash < 0 ? '' : rest.slice(slash);
    host = authority.slice(authority.lastIndexOf('@') + 1);
    const problem = hostProblem(host);
    if (problem !== undefined) return fail(problem);
  }
  const bad = BAD_ESCAPE.exec(rest);
  if (bad) return fail(`invalid URL escape ${JSON.stringify(rest.slice(bad.index, bad.index + 3))}`);
  return { text, scheme: lower, host, path: rest, query };
}

function hostProblem(host: string): string | undefined {
  const colon = host.startsWith('[') ? host.indexOf(']') + 1 : host.indexOf(':');
  if (host.startsWith('[') && colon === 0) return "missing ']' in host";
  const port = colon < 0 ? '' : host.slice(colon);
  if (port !== '' && !/^:[0-9]*$/.test(port)) return `invalid port ${JSON.stringify(port)} after host`;
  return HOST.test(host) ? undefined : 'invalid character in host name';
}

function hostName(host: string): string {
  if (host.startsWith('[')) return host.slice(1, host.indexOf(']'));
  const colon = host.lastIndexOf(':');
  return colon < 0 ? host : host.slice(0, colon);
}

function portOf(host: string): string {
  return /:([0-9]*)$/.exec(host.startsWith('[') ? host.slice(host.indexOf(']')) : host)?.[1] ?? '';
}

/** Percent signs for all that may not stand in a path as it is. */
function escapedPath(path: string): string {
  return path.replace(/%[0-9A-Fa-f]{2}|[^A-Za-z0-9\-._~!$&'()*+,;=:@/[\]]/gu, (part) =>
    part.startsWith('%') && part.length === 3 ? part : encodeURIComponent(part.toWellFormed()),
  );
}

function queryMap(query: string): Value {
  const found = new Map<string, string[]>();
  for (const pair of query.split('&')) {
    if (pair === '' || pair.includes(';') || BAD_ESCAPE.test(pair)) continue;
    const equals = pair.indexOf('=');
    const key = decoded(equals < 0 ? pair : pair.slice(0, equals));
    const values = found.get(key) ?? [];
    values.push(equals < 0 ? '' : decoded(pair.slice(equals + 1)));
    found.set(key, values);
  }
  return mapOf(Array.from(found, ([key, values]) => [key, new List(values)] as const)) ?? null;
}

function decoded(text: string): string {
  return text
    .replaceAll('+', ' ')
    .replace(/(?:%[0-9A-Fa-f]{2})+/g, (run) => Buffer.from(run.replaceAll('%', ''), 'hex').toString('utf8'));
}

function accessor(
  name: string,
  id: string,
  result: Type,
  read: (url: ParsedUrl) => Value,
): FunctionDeclaration {
  return {
    name,
    overloads: [
      memberOverload(id, [URL_TYPE], result, (value) => read((value as Opaque<ParsedUrl>).value), nominal),
    ],
  };
}

function toUrl(text: Value): Value {
  const parsed = parseUrl(text as string);
  return 'error' in parsed ? new CelError(parsed.error) : (new Opaque(urlKind, parsed) as Opaque);
}

export const urlsLibrary: Library = {
  name: 'urls',
  functions: [
    { name: 'url', overloads: [globalOverload('string_to_url', [STRING], URL_TYPE, toUrl, traversal(0))] },
    {
      name: 'isURL',
      overloads: [
        globalOverload(
          'is_url_string',
          [STRING],
          BOOL,
          (text) => !('error' in parseUrl(text as string)),
          traversal(0),
        ),
      ],
    },
    accessor('getScheme', 'url_get_scheme', STRING, (url) => url.scheme),
    accessor('getHost', 'url_get_host', STRING, (url) => url.host),
    accessor('getHostname', 'url_get_hostname', STRING, (url) => hostName(url.host)),
    accessor('getPort', 'url_get_port', STRING, (url) => portOf(url.host)),
    accessor('getEscapedPath', 'url_get_escaped_path', STRING, (url) => escapedPath(url.path)),
    accessor('getQuery', 'url_get_query', mapType(STRING, listType(STRING)), (url) => queryMap(url.query)),
  ],
};
