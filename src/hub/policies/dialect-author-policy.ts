import type { Author } from '../../engine/intent.ts';
import type { Client } from '../../kube/client.ts';
import { keepApplied } from '../../kube/keep-applied.ts';
import type { KubeObject } from '../../kube/object.ts';
import { StatusError } from '../../kube/status-error.ts';
import type { Logger } from '../../runtime/log.ts';
import { whatIsWritten } from './match-constraints.ts';

/** Who wrote the spec of an object last, as the API server knew them. Kinds of others have no field for it. */
export const AUTHOR_ANNOTATION = 'atoll.dev/author';
/** Their groups, one a line. */
export const AUTHOR_GROUPS_ANNOTATION = 'atoll.dev/author-groups';

/** The policies that write down and check who writes. */
export const AUTHOR_POLICY = 'atoll.dev-kubefed-author';
const NAME = AUTHOR_POLICY;
const GROUP = 'admissionregistration.k8s.io';
/** Where policies that mutate are served: from 1.36 on, and before where they are switched on. */
const STAMP_VERSIONS = ['v1', 'v1beta1'];

const own = (object: string, annotation: string): string =>
  `(has(${object}.metadata.annotations) && '${annotation}' in ${object}.metadata.annotations ? ${object}.metadata.annotations['${annotation}'] : '')`;
const differs = (annotation: string): string =>
  `${own('object', annotation)} != ${own('oldObject', annotation)}`;

const USER = 'request.userInfo.username';
/** A name with a line break in it could be two. */
const GROUPS =
  "(has(request.userInfo.groups) ? request.userInfo.groups.filter(group, !group.contains('\\n')).join('\\n') : '')";

/**
 * Whoever changes what is wished is the author; what only touches status or finalizers is not. Who writes the annotations
 * themselves becomes the author, whatever they write: nobody can be another.
 */
const CHANGES = {
  name: 'wish-changes',
  expression: [
    'oldObject == null',
    '(has(object.spec) != has(oldObject.spec))',
    '(has(object.spec) && object.spec != oldObject.spec)',
    differs(AUTHOR_ANNOTATION),
    differs(AUTHOR_GROUPS_ANNOTATION),
  ].join(' || '),
};

/** Which objects have their author in annotations. */
export interface AuthoredKinds {
  /** Of the policies. */
  readonly name: string;
  readonly groups: readonly string[];
  /** Plural names; all of the groups where nothing is said. */
  readonly resources?: readonly string[];
}

const matchConstraints = ({ groups, resources = ['*'] }: AuthoredKinds): object =>
  whatIsWritten(groups, resources);

function stamp(version: string, kinds: AuthoredKinds): KubeObject[] {
  const pointer = (annotation: string): string => `/metadata/annotations/${annotation.replace('/', '~1')}`;
  const set = (annotation: string, value: string): string =>
    `JSONPatch{op: 'add', path: '${pointer(annotation)}', value: ${value}}`;
  return [
    {
      apiVersion: `${GROUP}/${version}`,
      kind: 'MutatingAdmissionPolicy',
      metadata: { name: kinds.name },
      spec: {
        failurePolicy: 'Fail',
        reinvocationPolicy: 'IfNeeded',
        matchConstraints: matchConstraints(kinds),
        matchConditions: [CHANGES],
        mutations: [
          {
            patchType: 'JSONPatch',
            jsonPatch: {
              expression: `has(object.metadata.annotations) ? [${set(AUTHOR_ANNOTATION, USER)}, ${set(AUTHOR_GROUPS_ANNOTATION, GROUPS)}] : [JSONPatch{op: 'add', path: '/metadata/annotations', value: {'${AUTHOR_ANNOTATION}': ${USER}, '${AUTHOR_GROUPS_ANNOTATION}': ${GROUPS}}}]`,
            },
          },
        ],
      },
    },
    binding(kinds.name, version, 'MutatingAdmissionPolicyBinding', {}),
  ];
}

/** Where nothing stamps the author there may be none, but not somebody else. */
function check(kinds: AuthoredKinds): KubeObject[] {
  return [
    {
      apiVersion: `${GROUP}/v1`,
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: kinds.name },
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: matchConstraints(kinds),
        matchConditions: [CHANGES],
        validations: [
          {
            expression: `${own('object', AUTHOR_ANNOTATION)} in ['', ${USER}] && ${own('object', AUTHOR_GROUPS_ANNOTATION)} in ['', ${GROUPS}]`,
            messageExpression: `'the annotation ${AUTHOR_ANNOTATION} must be ' + ${USER} + ', who writes this, or be left out'`,
            reason: 'Forbidden',
          },
        ],
      },
    },
    binding(kinds.name, 'v1', 'ValidatingAdmissionPolicyBinding', { validationActions: ['Deny'] }),
  ];
}

function binding(name: string, version: string, kind: string, more: object): KubeObject {
  return {
    apiVersion: `${GROUP}/${version}`,
    kind,
    metadata: { name },
    spec: { policyName: name, ...more },
  };
}

/**
 * Makes the hub's API server write down who writes objects of kinds whose own fields have no room for it: federated objects where
 * only groups are named. Says whether what is written down can be believed:
 * false where the API server has no such policies, so that everybody could write anybody's name.
 */
export async function installAuthorPolicy(
  client: Client,
  log: Logger,
  of: readonly string[] | AuthoredKinds,
): Promise<boolean> {
  const kinds: AuthoredKinds = 'groups' in of ? of : { name: NAME, groups: of };
  const stamped = await attempt(async () => {
    let missing: unknown;
    for (const version of STAMP_VERSIONS) {
      const problem = await attempt(() => apply(client, stamp(version, kinds)));
      if (problem === undefined) return;
      missing = problem;
    }
    throw missing;
  });
  const checked = await attempt(() => apply(client, check(kinds)));
  if (checked !== undefined)
    log.warn('nobody is believed to be the author of objects', { policy: kinds.name, why: checked.message });
  else if (stamped !== undefined)
    log.warn('objects have no author unless they name one', { policy: kinds.name, why: stamped.message });
  return checked === undefined;
}

/** Why something is not served or not allowed; other failures are thrown. */
async function attempt(act: () => Promise<void>): Promise<StatusError | undefined> {
  try {
    await act();
    return undefined;
  } catch (error) {
    if (error instanceof StatusError && (error.code === 403 || error.code === 404)) return error;
    throw error;
  }
}

async function apply(client: Client, objects: readonly KubeObject[]): Promise<void> {
  for (const object of objects) await keepApplied(client, object, 'atoll');
}

/** Who wrote an object, where somebody is written down. */
export function authorOf({ metadata }: KubeObject): Author | undefined {
  const username = metadata.annotations?.[AUTHOR_ANNOTATION] ?? '';
  if (username === '') return undefined;
  const groups = (metadata.annotations?.[AUTHOR_GROUPS_ANNOTATION] ?? '')
    .split('\n')
    .filter((group) => group !== '');
  return { username, ...(groups.length === 0 ? {} : { groups }) };
}
