import { formatApiVersion } from '../../kube/object.ts';
import type { Catalogue } from '../catalogue/index.ts';
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
  const word = `${groupWord(group, resource.custom)}${capital(version)}`;
  const tag = tagOf(groupWord(group, resource.custom), version);
  const scope = namespaced ? 'Namespaced' : '';
  const gvk = { group, version, kind };
  const verbs = new Set<string>(resource.verbs);
  const own = definitionNameOf(resource, gvk, catalogue);
  const list = definitionNameOf(resource, { group, version, kind: resource.listKind }, catalogue);
  const patchTypes = resource.custom ? CUSTOM_PATCH_TYPES : PATCH_TYPES;
  const base = rootPath(group, version);
  const collection = `${base}${namespaced ? '/namespaces/{namespace}' : ''}/${resource.resource}`;
  const variables = namespaced ? ['namespace'] : [];
  const out: PathOperations[] = [];

  const collectionOperations: Operation[] = [];
  if (verbs.has('list')) {
    collectionOperations.push({
      method: 'get',
      id: `list${word}${scope}${kind}`,
      tag,
      action: 'list',
      gvk,
      query: LIST_QUERY,
      ...answerOf(list),
      codes: [200],
    });
  }
  if (verbs.has('create')) {
    collectionOperations.push({
      method: 'post',
      id: `create${word}${scope}${kind}`,
      tag,
      action: 'post',
      gvk,
      query: WRITE_QUERY,
      ...bodyOf(own, ANY_TYPE, true),
      ...answerOf(own),
      codes: [200, 201, 202],
    });
  }
  if (verbs.has('deletecollection')) {
    collectionOperations.push({
      method: 'delete',
      id: `delete${word}Collection${scope}${kind}`,
      tag,
      action: 'deletecollection',
      gvk,
      query: COLLECTION_QUERY,
      ...bodyOf(META.deleteOptions, ANY_TYPE, false),
      answer: META.status,
      codes: [200],
    });
  }
  add(collection, variables, collectionOperations);
  add(
    `${collection}/{name}`,
    ['name', ...variables],
    objectOperations({
      verbs: new Set([...verbs].filter((verb) => verb !== 'create')),
      suffix: `${word}${scope}${kind}`,
      tag,
      gvk,
      definition: own,
      patchTypes,
      deleteAnswer: META.status,
    }),
  );
  for (const sub of resource.subresources) {
    const bodyKind = {
      group: sub.group ?? group,
      version: sub.version ?? version,
      kind: sub.kind ?? kind,
    };
    add(
      `${collection}/{name}/${sub.name}`,
      ['name', ...variables],
      objectOperations({
        verbs: new Set<string>(sub.verbs),
        suffix: `${word}${scope}${kind}${capital(sub.name)}`,
        tag,
        gvk: bodyKind,
        // The log is text, not a Pod.
        definition: sub.name === 'log' ? undefined : definitionNameOf(resource, bodyKind, catalogue),
        patchTypes,
      }),
    );
  }
  if (namespaced && verbs.has('list')) {
    add(
      `${base}/${resource.resource}`,
      [],
      [
        {
          method: 'get',
          id: `list${word}${kind}ForAllNamespaces`,
          tag,
          action: 'list',
          gvk,
          query: LIST_QUERY,
          ...answerOf(list),
          codes: [200],
        },
      ],
    );
  }
  return out;

  function add(path: string, names: readonly string[], operations: readonly Operation[]): void {
    if (operations.length > 0) out.push({ path, variables: names, operations });
  }
}

interface ObjectSpec {
  readonly verbs: ReadonlySet<string>;
  readonly suffix: string;
  readonly tag: string;
  readonly gvk: GroupVersionKind;
  readonly definition: string | undefined;
  readonly patchTypes: readonly string[];
  readonly deleteAnswer?: string;
}

function objectOperations(spec: ObjectSpec): Operation[] {
  const { verbs, suffix, tag, gvk, definition } = spec;
  const shared = { tag, gvk };
  const out: Operation[] = [];
  if (verbs.has('get')) {
    out.push({
      ...shared,
      method: 'get',
      id: `read${suffix}`,
      action: 'get',
      query: [],
      ...answerOf(definition),
      codes: [200],
    });
  }
  if (verbs.has('update')) {
    out.push({
      ...shared,
      method: 'put',
      id: `replace${suffix}`,
      action: 'put',
      query: WRITE_QUERY,
      ...bodyOf(definition, ANY_TYPE, true),
      ...answerOf(definition),
      codes: [200, 201],
    });
  }
  if (verbs.has('create')) {
    out.push({
      ...shared,
      method: 'post',
      id: `create${suffix}`,
      action: 'post',
      query: WRITE_QUERY,
      ...bodyOf(definition, ANY_TYPE, true),
      ...answerOf(definition),
      codes: [200, 201, 202],
    });
  }
  if (verbs.has('delete')) {
    out.push({
      ...shared,
      method: 'delete',
      id: `delete${suffix}`,
      action: 'delete',
      query: DELETE_QUERY,
      ...bodyOf(META.deleteOptions, ANY_TYPE, false),
      ...answerOf(spec.deleteAnswer),
      codes: [200, 202],
    });
  }
  if (verbs.has('patch')) {
    out.push({
      ...shared,
      method: 'patch',
      id: `patch${suffix}`,
      action: 'patch',
      query: PATCH_QUERY,
      ...bodyOf(META.patch, spec.patchTypes, true),
      ...answerOf(definition),
      codes: [200, 201],
    });
  }
  return out;
}

function answerOf(definition: string | undefined): { answer?: string } {
  return definition === undefined ? {} : { answer: definition };
}

function bodyOf(
  definition: string | undefined,
  mediaTypes: readonly string[],
  required: boolean,
): Pick<Operation, 'body'> {
  return definition === undefined ? {} : { body: { mediaTypes, definition, required } };
}

/** The path of a discovery document: `/apis/apps/v1/`, `/apis/apps/`, `/apis/`, `/api/`, `/version/`. */
export function discoveryPath(path: string, id: string, tag: string, answer: string): PathOperations {
  return {
    path,
    variables: [],
    operations: [{ method: 'get', id, tag, query: [], answer, codes: [200] }],
  };
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
