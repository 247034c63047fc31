import { fixed } from '../check/cost-range.ts';
import { BOOL, opaqueType, STRING, type Type } from '../types/type.ts';
import { CelError, Opaque, type OpaqueKind, type Value } from '../values/value.ts';
import { type Costing, nominal } from './cost.ts';
import { type FunctionDeclaration, type Library, memberOverload, type Overload } from './function.ts';

/** What an expression asks leave for. */
export interface AuthorizationQuestion {
  readonly verb: string;
  /** Of another than the one who made the request. */
  readonly serviceAccount?: { readonly namespace: string; readonly name: string };
  readonly path?: string;
  readonly group?: string;
  readonly resource?: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
}

export interface AuthorizationAnswer {
  readonly allowed: boolean;
  readonly reason: string;
  readonly error?: string;
}

/** Answers at once: expressions do not wait. */
export type Authorize = (question: AuthorizationQuestion) => AuthorizationAnswer;

type Draft = Omit<AuthorizationQuestion, 'verb'>;
interface Check {
  readonly authorize: Authorize;
  readonly draft: Draft;
}

function kindOf<T>(name: string): OpaqueKind<T> {
  return { type: opaqueType(name), name, equals: (a, b) => a === b };
}

const PREFIX = 'kubernetes.authorization.';
const authorizerKind = kindOf<Check>(`${PREFIX}Authorizer`);
const pathKind = kindOf<Check>(`${PREFIX}PathCheck`);
const groupKind = kindOf<Check>(`${PREFIX}GroupCheck`);
const resourceKind = kindOf<Check>(`${PREFIX}ResourceCheck`);
const decisionKind = kindOf<AuthorizationAnswer>(`${PREFIX}Decision`);

export const AUTHORIZER: Type = authorizerKind.type;
export const RESOURCE_CHECK: Type = resourceKind.type;

/** The value of the variable `authorizer`. */
export function authorizerValue(authorize: Authorize): Value {
  return new Opaque(authorizerKind, { authorize, draft: {} }) as Opaque;
}

/** The value of `authorizer.requestResource`. */
export function resourceCheckValue(authorize: Authorize, draft: Omit<AuthorizationQuestion, 'verb'>): Value {
  return new Opaque(resourceKind, { authorize, draft }) as Opaque;
}

/** A step that says more about the question. */
function refine(
  name: string,
  from: OpaqueKind<Check>,
  to: OpaqueKind<Check>,
  count: 1 | 2,
  more: (...texts: string[]) => Draft | CelError,
): Overload {
  const params = [from.type, ...new Array<Type>(count).fill(STRING)];
  const run = (check: Value, ...texts: Value[]): Value => {
    const { authorize, draft } = (check as Opaque<Check>).value;
    const added = more(...(texts as string[]));
    return added instanceof CelError
      ? added
      : (new Opaque(to, { authorize, draft: { ...draft, ...added } }) as Opaque);
  };
  return memberOverload(`${from.name}_${name}`, params, to.type, run, nominal);
}

/** So dear that an expression can afford two of them. */
const checking: Costing = { cost: () => 350_000, estimate: () => ({ cost: fixed(350_000) }) };

function check(from: OpaqueKind<Check>): Overload {
  return memberOverload(
    `${from.name}_check`,
    [from.type, STRING],
    decisionKind.type,
    (value, verb) => {
      const { authorize, draft } = (value as Opaque<Check>).value;
      return new Opaque(decisionKind, authorize({ ...draft, verb: verb as string })) as Opaque;
    },
    checking,
  );
}

function answer(
  name: string,
  result: Type,
  read: (answer: AuthorizationAnswer) => Value,
): FunctionDeclaration {
  const run = (value: Value): Value => read((value as Opaque<AuthorizationAnswer>).value);
  return { name, overloads: [memberOverload(`decision_${name}`, [decisionKind.type], result, run, nominal)] };
}

function field(
  name: keyof Draft & string,
  from: OpaqueKind<Check>,
  to: OpaqueKind<Check>,
): FunctionDeclaration {
  return { name, overloads: [refine(name, from, to, 1, (text) => ({ [name]: text }))] };
}

const path = (text: string | undefined): Draft | CelError =>
  text ? { path: text } : new CelError('path must not be empty');

/** Questions to the authorizer from within policies. */
export const authorizerLibrary: Library = {
  name: 'authz',
  functions: [
    { name: 'path', overloads: [refine('path', authorizerKind, pathKind, 1, path)] },
    field('group', authorizerKind, groupKind),
    {
      name: 'serviceAccount',
      overloads: [
        refine('serviceAccount', authorizerKind, authorizerKind, 2, (namespace = '', name = '') => ({
          serviceAccount: { namespace, name },
        })),
      ],
    },
    field('resource', groupKind, resourceKind),
    field('subresource', resourceKind, resourceKind),
    field('namespace', resourceKind, resourceKind),
    field('name', resourceKind, resourceKind),
    { name: 'check', overloads: [check(pathKind), check(resourceKind)] },
    answer('allowed', BOOL, ({ allowed }) => allowed),
    answer('reason', STRING, ({ reason }) => reason),
    answer('errored', BOOL, ({ error }) => error !== undefined),
    answer('error', STRING, ({ error }) => error ?? ''),
  ],
};

/** Questions about what selectors choose. */
export const authorizerSelectorsLibrary: Library = {
  name: 'authz-selectors',
  functions: [
    field('fieldSelector', resourceKind, resourceKind),
    field('labelSelector', resourceKind, resourceKind),
  ],
};
