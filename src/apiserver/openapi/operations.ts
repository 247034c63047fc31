import { formatApiVersion } from '../../kube/object.ts';
import { type Catalogue, minorOf, type Release } from '../catalogue/index.ts';
import type { Subresource, Verb } from '../resource.ts';
import {
  definitionNameOf,
  type GroupVersionKind,
  META,
  type PublishedResource,
} from './published-resource.ts';

export type Method = 'get' | 'put' | 'post' | 'delete' | 'patch' | 'options' | 'head';

export interface QueryParameter {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'boolean';
  /** The minor release that first had it, where one that is emulated had it not. */
  readonly since?: number;
}

/** One operation, free of document form. References are names of definitions. */
export interface Operation {
  readonly method: Method;
  readonly id: string;
  readonly tag: string;
  readonly action?: string;
  readonly gvk?: GroupVersionKind;
  readonly query: readonly QueryParameter[];
  /** Media types of the request body with its definition. */
  readonly body?: {
    readonly mediaTypes: readonly string[];
    readonly definition: string;
    readonly required: boolean;
  };
  /** Definition of the answer; absent for text. */
  readonly answer?: string;
  /** Media types of the answer. */
  readonly produces: readonly string[];
  /** Media types of a request where it has no body. */
  readonly consumes: readonly string[];
  readonly codes: readonly number[];
}

export interface PathOperations {
  readonly path: string;
  /** Names of the path's variables, in order. */
  readonly variables: readonly string[];
  readonly operations: readonly Operation[];
}

const text = (name: string): QueryParameter => ({ name, type: 'string' });
const integer = (name: string): QueryParameter => ({ name, type: 'integer' });
const flag = (name: string): QueryParameter => ({ name, type: 'boolean' });
const later = (since: number, parameter: QueryParameter): QueryParameter => ({ ...parameter, since });

/** Every request to a resource may ask for an answer that is laid out for people. */
const PRETTY = text('pretty');
const LIST_QUERY = [
  flag('allowWatchBookmarks'),
  text('continue'),
  text('fieldSelector'),
  text('labelSelector'),
  integer('limit'),
  text('resourceVersion'),
  text('resourceVersionMatch'),
  flag('sendInitialEvents'),
  later(36, text('shardSelector')),
  integer('timeoutSeconds'),
  flag('watch'),
];
/** kubectl asks the document of a PATCH for `dryRun` and `fieldValidation` before it uses them. */
const WRITE_QUERY = [text('dryRun'), text('fieldManager'), text('fieldValidation')];
const PATCH_QUERY = [...WRITE_QUERY, flag('force')];
const DELETE_QUERY = [
  text('dryRun'),
  integer('gracePeriodSeconds'),
  later(32, flag('ignoreStoreReadErrorWithClusterBreakingPotential')),
  flag('orphanDependents'),
  text('propagationPolicy'),
];
const COLLECTION_QUERY = [
  ...DELETE_QUERY,
  ...LIST_QUERY.filter((item) => item.name !== 'watch' && item.name !== 'allowWatchBookmarks'),
];
const LOG_QUERY = [
  text('container'),
  flag('follow'),
  flag('insecureSkipTLSVerifyBackend'),
  integer('limitBytes'),
  flag('previous'),
  integer('sinceSeconds'),
  later(32, text('stream')),
  integer('tailLines'),
  flag('timestamps'),
];
const STREAM_QUERY = [text('container'), flag('stderr'), flag('stdin'), flag('stdout'), flag('tty')];
/** What takes over the connection, by subresource. */
const CONNECTIONS: Readonly<
  Record<string, { query: readonly QueryParameter[]; methods: readonly Method[] }>
> = {
  attach: { query: STREAM_QUERY, methods: ['get', 'post'] },
  exec: { query: [text('command'), ...STREAM_QUERY], methods: ['get', 'post'] },
  portforward: { query: [integer('ports')], methods: ['get', 'post'] },
  proxy: {
    query: [text('path')],
    methods: ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'],
  },
};

/** Strategic merge needs merge keys of Go types, which custom resources lack. */
const CUSTOM_PATCH_TYPES = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/apply-patch+yaml',
];
const PATCH_TYPES = CUSTOM_PATCH_TYPES.toSpliced(2, 0, 'application/strategic-merge-patch+json');
const ANY_TYPE = ['*/*'];
const CUSTOM_TYPES = ['application/json', 'application/yaml'];
const OBJECT_TYPES = [...CUSTOM_TYPES, 'application/vnd.kubernetes.protobuf'];
const STREAM_TYPES = ['application/json;stream=watch', 'application/vnd.kubernetes.protobuf;stream=watch'];

/** What a shape's body or answer is, to be looked up in the {@link Target}. */
type Part = 'object' | 'list' | 'options' | 'patch' | 'deleted' | 'collected' | 'event';

/** An operation before it is known of what. */
interface Shape {
  /** The verb that a resource has to have. */
  readonly verb: Verb;
  readonly method: Method;
  /** What its id begins with. */
  readonly word: string;
  /** What its id has behind group and version. */
  readonly infix?: string;
  readonly action: string;
  readonly query: readonly QueryParameter[];
  readonly body?: Part;
  /** A body that may be left out. */
  readonly optionalBody?: boolean;
  readonly answer: Part;
  readonly codes: readonly number[];
}

const LIST: Shape = {
  verb: 'list',
  method: 'get',
  word: 'list',
  action: 'list',
  query: LIST_QUERY,
  answer: 'list',
  codes: [200],
};

const CREATE: Shape = {
  verb: 'create',
  method: 'post',
  word: 'create',
  action: 'post',
  query: WRITE_QUERY,
  body: 'object',
  answer: 'object',
  codes: [200, 201, 202],
};

const DELETE_COLLECTION: Shape = {
  verb: 'deletecollection',
  method: 'delete',
  word: 'delete',
  infix: 'Collection',
  action: 'deletecollection',
  query: LIST_QUERY,
  answer: 'collected',
  codes: [200],
};

const ON_COLLECTION: readonly Shape[] = [
  LIST,
  CREATE,
  { ...DELETE_COLLECTION, query: COLLECTION_QUERY, body: 'options', optionalBody: true },
];

/** Of a collection of custom resources it is told what selects them, and not how they may be deleted. */
const ON_CUSTOM_COLLECTION: readonly Shape[] = [LIST, CREATE, DELETE_COLLECTION];

/** Resources whose deletion is answered with the object, and documented as answered with a Status. */
const DELETED_UNSAID: ReadonlySet<string> = new Set(['namespaces']);

const ON_OBJECT: readonly Shape[] = [
  { verb: 'get', method: 'get', word: 'read', action: 'get', query: [], answer: 'object', codes: [200] },
  {
    verb: 'update',
    method: 'put',
    word: 'replace',
    action: 'put',
    query: WRITE_QUERY,
    body: 'object',
    answer: 'object',
    codes: [200, 201],
  },
  {
    verb: 'delete',
    method: 'delete',
    word: 'delete',
    action: 'delete',
    query: DELETE_QUERY,
    body: 'options',
    optionalBody: true,
    answer: 'deleted',
    codes: [200, 202],
  },
  {
    verb: 'patch',
    method: 'patch',
    word: 'patch',
    action: 'patch',
    query: PATCH_QUERY,
    body: 'patch',
    answer: 'object',
    codes: [200, 201],
  },
];

/** A subresource is created at its own path, an object at that of the collection. */
const ON_SUBRESOURCE: readonly Shape[] = [...ON_OBJECT, CREATE];

/** What the operations of a path are about. */
interface Target {
  readonly verbs: readonly Verb[];
  /** `AppsV1`: behind the verb in ids. */
  readonly word: string;
  /** What ids end with: `NamespacedDeployment`, `NamespacedDeploymentStatus`. */
  readonly noun: string;
  readonly tag: string;
  readonly gvk: GroupVersionKind;
  /** Names of definitions; what is absent has none. */
  readonly definitions: Readonly<Partial<Record<Part, string | undefined>>>;
  readonly custom: boolean;
}

/** What is watched over paths of its own, as clients did before there was a parameter for it. */
function watchShape(action: 'watch' | 'watchlist'): Shape {
  return {
    verb: 'watch',
    method: 'get',
    word: 'watch',
    action,
    query: LIST_QUERY,
    answer: 'event',
    codes: [200],
  };
}

function operation(shape: Shape, target: Target): Operation {
  const { method, action, query, codes } = shape;
  const { custom } = target;
  const definition = shape.body === undefined ? undefined : target.definitions[shape.body];
  const answer = target.definitions[shape.answer];
  const types = custom ? CUSTOM_TYPES : OBJECT_TYPES;
  const streams = !custom && (shape.answer === 'list' || shape.answer === 'event') ? STREAM_TYPES : [];
  const bodies = custom ? CUSTOM_TYPES : ANY_TYPE;
  const patches = custom ? CUSTOM_PATCH_TYPES : PATCH_TYPES;
  return {
    method,
    id: `${shape.word}${target.word}${shape.infix ?? ''}${target.noun}`,
    tag: target.tag,
    action,
    gvk: target.gvk,
    query: [...query, ...(custom && shape.word === 'read' ? [text('resourceVersion')] : []), PRETTY],
    consumes: bodies,
    produces: answer === undefined ? ['text/plain', ...types] : [...types, ...streams],
    ...(definition === undefined
      ? {}
      : {
          body: {
            mediaTypes: shape.body === 'patch' ? patches : bodies,
            definition,
            required: shape.optionalBody !== true,
          },
        }),
    ...(answer === undefined ? {} : { answer }),
    codes: custom && shape.body === 'patch' ? [200] : codes,
  };
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

/** `RbacAuthorizationV1`, `CoreV1`, `ExampleComV1`: unique in operation ids. */
function groupWord(group: string, custom: boolean): string {
  if (group === '') return 'Core';
  const name = custom ? group : group.replace(/\.k8s\.io$/, '');
  return name.split(/[.-]/).map(capital).join('');
}

function tagOf(word: string, version?: string): string {
  const name = word.charAt(0).toLowerCase() + word.slice(1);
  return version === undefined ? name : `${name}_${version}`;
}

export function rootPath(group: string, version: string): string {
  return `${group === '' ? '/api' : '/apis'}/${formatApiVersion(group, version)}`;
}

/** Every path of a resource with the operations that its verbs allow. */
export function pathsOf(
  resource: PublishedResource,
  catalogue: Catalogue,
  release: Release,
): PathOperations[] {
  const { group, version, kind, namespaced, custom } = resource;
  const name = groupWord(group, custom);
  const gvk = { group, version, kind };
  const object = definitionNameOf(resource, gvk, catalogue);
  const target: Target = {
    verbs: resource.verbs,
    word: `${name}${capital(version)}`,
    noun: `${namespaced ? 'Namespaced' : ''}${kind}`,
    tag: tagOf(name, version),
    gvk,
    definitions: {
      object,
      list: definitionNameOf(resource, { group, version, kind: resource.listKind }, catalogue),
      options: META.deleteOptions,
      patch: META.patch,
      deleted:
        resource.strategy?.returnsDeleted && !DELETED_UNSAID.has(resource.resource) ? object : META.status,
      collected: META.status,
      event: META.watchEvent,
    },
    custom,
  };
  const base = rootPath(group, version);
  const inNamespace = `${namespaced ? '/namespaces/{namespace}' : ''}/${resource.resource}`;
  const collection = `${base}${inNamespace}`;
  const variables = namespaced ? ['namespace'] : [];
  const named = ['name', ...variables];
  const paths = [
    pathOf(collection, variables, custom ? ON_CUSTOM_COLLECTION : ON_COLLECTION, target),
    pathOf(`${collection}/{name}`, named, ON_OBJECT, target),
    ...resource.subresources.flatMap((sub) => subresourcePaths(`${collection}/{name}`, named, sub)),
  ];
  const everywhere = { ...target, noun: `${kind}ForAllNamespaces` };
  if (namespaced) paths.push(pathOf(`${base}/${resource.resource}`, [], [LIST], everywhere));
  if (!custom) {
    const watched = `${base}/watch${inNamespace}`;
    const list = { ...target, noun: `${target.noun}List` };
    paths.push(
      pathOf(watched, variables, [watchShape('watchlist')], list),
      pathOf(`${watched}/{name}`, named, [watchShape('watch')], target),
    );
    if (namespaced) {
      const all = { ...target, noun: `${kind}ListForAllNamespaces` };
      paths.push(pathOf(`${base}/watch/${resource.resource}`, [], [watchShape('watchlist')], all));
    }
  }
  return paths.filter(({ operations }) => operations.length > 0).map(asOf(release));

  function subresourcePaths(path: string, within: readonly string[], sub: Subresource): PathOperations[] {
    const body = { group: sub.group ?? group, version: sub.version ?? version, kind: sub.kind ?? kind };
    const own: Target = {
      ...target,
      verbs: sub.verbs,
      noun: `${target.noun}${capital(sub.name)}`,
      // A custom resource's operations are all about its own kind.
      gvk: custom ? gvk : body,
      definitions: {
        ...target.definitions,
        // The log is text, not a Pod.
        object: sub.name === 'log' ? undefined : definitionNameOf(resource, body, catalogue),
      },
    };
    const at = `${path}/${sub.name}`;
    const connection = custom ? undefined : CONNECTIONS[sub.name];
    if (connection) {
      const { query, methods } = connection;
      const operationsFor = (suffix: string): Operation[] =>
        methods.map((method) => ({
          method,
          id: `connect${own.word}${capital(method)}${own.noun}${suffix}`,
          tag: own.tag,
          action: 'connect',
          gvk: body,
          query,
          consumes: ANY_TYPE,
          produces: ANY_TYPE,
          codes: [200],
        }));
      const whole = { path: at, variables: within, operations: operationsFor('') };
      if (sub.name !== 'proxy') return [whole];
      const deep = `${at}/{path}`;
      return [whole, { path: deep, variables: [...within, 'path'], operations: operationsFor('WithPath') }];
    }
    const found = pathOf(at, within, ON_SUBRESOURCE, own);
    if (sub.name !== 'log' || custom) return [found];
    return [
      {
        ...found,
        operations: found.operations.map((one) => ({ ...one, query: [...one.query, ...LOG_QUERY] })),
      },
    ];
  }
}

/**
 * Which parameters of a query all operations of a path take, so that they are said once, and which are left to each; in the
 * order of their names.
 */
export function dividedQuery({ operations }: PathOperations): {
  readonly common: readonly QueryParameter[];
  own(operation: Operation): readonly QueryParameter[];
} {
  const [first, ...others] = operations;
  const takes = (operation: Operation, name: string): boolean =>
    operation.query.some((parameter) => parameter.name === name);
  const common = (first?.query ?? []).filter(({ name }) => others.every((one) => takes(one, name)));
  const names = new Set(common.map(({ name }) => name));
  return {
    common,
    own: ({ query }) =>
      query.filter(({ name }) => !names.has(name)).sort((a, b) => (a.name < b.name ? -1 : 1)),
  };
}

function pathOf(
  path: string,
  variables: readonly string[],
  shapes: readonly Shape[],
  target: Target,
): PathOperations {
  const allowed = shapes.filter(({ verb }) => target.verbs.includes(verb));
  return { path, variables, operations: allowed.map((shape) => operation(shape, target)) };
}

/** Leaves out the parameters that came later. */
function asOf(release: Release): (path: PathOperations) => PathOperations {
  const minor = minorOf(release);
  return (path) => ({
    ...path,
    operations: path.operations.map((one) => ({
      ...one,
      query: one.query.filter(({ since = 0 }) => since <= minor),
    })),
  });
}

/** The path of a discovery document: `/apis/apps/v1/`, `/apis/apps/`, `/apis/`, `/api/`. */
export function discoveryPath(path: string, id: string, tag: string, answer: string): PathOperations {
  return readPath(path, { id, tag, answer, produces: OBJECT_TYPES, consumes: OBJECT_TYPES });
}

/** A path whose document is JSON alone. */
export function jsonPath(path: string, id: string, tag: string, answer: string): PathOperations {
  return readPath(path, { id, tag, answer, produces: ['application/json'], consumes: ['application/json'] });
}

/** A path that answers with text of the given type. */
export function textPath(path: string, id: string, tag: string, produces: string): PathOperations {
  return readPath(path, { id, tag, produces: [produces], consumes: [] });
}

function readPath(
  path: string,
  facts: Pick<Operation, 'id' | 'tag' | 'answer' | 'produces' | 'consumes'>,
): PathOperations {
  return { path, variables: [], operations: [{ method: 'get', ...facts, query: [], codes: [200] }] };
}

export function groupVersionPath(group: string, version: string): PathOperations {
  const word = groupWord(group, false);
  return discoveryPath(
    `${rootPath(group, version)}/`,
    `get${word}${capital(version)}APIResources`,
    tagOf(word, version),
    META.apiResourceList,
  );
}

export function groupPath(group: string): PathOperations {
  const word = groupWord(group, false);
  return discoveryPath(`/apis/${group}/`, `get${word}APIGroup`, tagOf(word), META.apiGroup);
}
