import { formatApiVersion } from '../../kube/object.ts';
import type { Catalogue } from '../catalogue/index.ts';
import type { Subresource, Verb } from '../resource.ts';
import {
  definitionNameOf,
  type GroupVersionKind,
  META,
  type PublishedResource,
} from './published-resource.ts';

export type Method = 'get' | 'put' | 'post' | 'delete' | 'patch';

export interface QueryParameter {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'boolean';
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
  /** Media type of an answer without definition, `text/plain` by default. */
  readonly produces?: string;
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

const LIST_QUERY = [
  flag('allowWatchBookmarks'),
  text('continue'),
  text('fieldSelector'),
  text('labelSelector'),
  integer('limit'),
  text('resourceVersion'),
  text('resourceVersionMatch'),
  flag('sendInitialEvents'),
  integer('timeoutSeconds'),
  flag('watch'),
];
/** kubectl asks the document of a PATCH for `dryRun` and `fieldValidation` before it uses them. */
const WRITE_QUERY = [text('dryRun'), text('fieldManager'), text('fieldValidation')];
const PATCH_QUERY = [...WRITE_QUERY, flag('force')];
const DELETE_QUERY = [
  text('dryRun'),
  integer('gracePeriodSeconds'),
  flag('orphanDependents'),
  text('propagationPolicy'),
];
const COLLECTION_QUERY = [
  ...DELETE_QUERY,
  ...LIST_QUERY.filter((item) => item.name !== 'watch' && item.name !== 'allowWatchBookmarks'),
];

/** Strategic merge needs merge keys of Go types, which custom resources lack. */
const CUSTOM_PATCH_TYPES = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/apply-patch+yaml',
];
const PATCH_TYPES = [...CUSTOM_PATCH_TYPES, 'application/strategic-merge-patch+json'].sort();
const ANY_TYPE = ['*/*'];

/** What a shape's body or answer is, to be looked up in the {@link Target}. */
type Part = 'object' | 'list' | 'options' | 'patch' | 'status';

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

const ON_COLLECTION: readonly Shape[] = [
  LIST,
  CREATE,
  {
    verb: 'deletecollection',
    method: 'delete',
    word: 'delete',
    infix: 'Collection',
    action: 'deletecollection',
    query: COLLECTION_QUERY,
    body: 'options',
    optionalBody: true,
    answer: 'status',
    codes: [200],
  },
];

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
    answer: 'status',
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
  readonly patchTypes: readonly string[];
}

function operation(shape: Shape, target: Target): Operation {
  const { method, action, query, codes } = shape;
  const definition = shape.body === undefined ? undefined : target.definitions[shape.body];
  const answer = target.definitions[shape.answer];
  return {
    method,
    id: `${shape.word}${target.word}${shape.infix ?? ''}${target.noun}`,
    tag: target.tag,
    action,
    gvk: target.gvk,
    query,
    ...(definition === undefined
      ? {}
      : {
          body: {
            mediaTypes: shape.body === 'patch' ? target.patchTypes : ANY_TYPE,
            definition,
            required: shape.optionalBody !== true,
          },
        }),
    ...(answer === undefined ? {} : { answer }),
    codes,
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
export function pathsOf(resource: PublishedResource, catalogue: Catalogue): PathOperations[] {
  const { group, version, kind, namespaced } = resource;
  const name = groupWord(group, resource.custom);
  const gvk = { group, version, kind };
  const target: Target = {
    verbs: resource.verbs,
    word: `${name}${capital(version)}`,
    noun: `${namespaced ? 'Namespaced' : ''}${kind}`,
    tag: tagOf(name, version),
    gvk,
    definitions: {
      object: definitionNameOf(resource, gvk, catalogue),
      list: definitionNameOf(resource, { group, version, kind: resource.listKind }, catalogue),
      options: META.deleteOptions,
      patch: META.patch,
      status: META.status,
    },
    patchTypes: resource.custom ? CUSTOM_PATCH_TYPES : PATCH_TYPES,
  };
  const base = rootPath(group, version);
  const collection = `${base}${namespaced ? '/namespaces/{namespace}' : ''}/${resource.resource}`;
  const variables = namespaced ? ['namespace'] : [];
  const object = ['name', ...variables];
  const paths = [
    pathOf(collection, variables, ON_COLLECTION, target),
    pathOf(`${collection}/{name}`, object, ON_OBJECT, target),
    ...resource.subresources.map((sub) =>
      pathOf(`${collection}/{name}/${sub.name}`, object, ON_SUBRESOURCE, subresourceTarget(target, sub)),
    ),
  ];
  if (namespaced)
    paths.push(
      pathOf(`${base}/${resource.resource}`, [], [LIST], { ...target, noun: `${kind}ForAllNamespaces` }),
    );
  return paths.filter(({ operations }) => operations.length > 0);

  function subresourceTarget(parent: Target, sub: Subresource): Target {
    const body = { group: sub.group ?? group, version: sub.version ?? version, kind: sub.kind ?? kind };
    return {
      ...parent,
      verbs: sub.verbs,
      noun: `${parent.noun}${capital(sub.name)}`,
      gvk: body,
      definitions: {
        ...parent.definitions,
        // The log is text, not a Pod.
        object: sub.name === 'log' ? undefined : definitionNameOf(resource, body, catalogue),
        status: undefined,
      },
    };
  }
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

/** The path of a discovery document: `/apis/apps/v1/`, `/apis/apps/`, `/apis/`, `/api/`, `/version/`. */
export function discoveryPath(path: string, id: string, tag: string, answer: string): PathOperations {
  return readPath(path, { id, tag, answer });
}

/** A path that answers with text of the given type. */
export function textPath(path: string, id: string, tag: string, produces: string): PathOperations {
  return readPath(path, { id, tag, produces });
}

function readPath(
  path: string,
  facts: Pick<Operation, 'id' | 'tag' | 'answer' | 'produces'>,
): PathOperations {
  return { path, variables: [], operations: [{ method: 'get', ...facts, query: [], codes: [200] }] };
}

export function groupVersionPath(group: string, version: string, custom: boolean): PathOperations {
  const word = groupWord(group, custom);
  return discoveryPath(
    `${rootPath(group, version)}/`,
    `get${word}${capital(version)}APIResources`,
    tagOf(word, version),
    META.apiResourceList,
  );
}

export function groupPath(group: string, custom: boolean): PathOperations {
  const word = groupWord(group, custom);
  return discoveryPath(`/apis/${group}/`, `get${word}APIGroup`, tagOf(word), META.apiGroup);
}
