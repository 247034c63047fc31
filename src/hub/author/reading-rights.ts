import { digestOf } from '../../engine/digest.ts';
import type { Author } from '../../engine/intent.ts';
import type { Client, ResourceId } from '../../kube/client.ts';
import { type KubeObject, type ObjectRef, parseApiVersion, refKey } from '../../kube/object.ts';
import type { Clock } from '../../runtime/clock.ts';
import { at } from '../../schema/json.ts';

/** What people may read at the hub, as its API server says. */
export interface ReadingRights {
  /** The objects that an author may not `get`, by key. Throws where the API server does not answer. */
  unreadable(author: Author, refs: readonly ObjectRef[]): Promise<ReadonlySet<string>>;
}

/** What people may change at the hub. */
export interface WritingRights {
  /** The objects that an author may not `update` as they like, by key. Throws where the API server does not answer. */
  unwritable(author: Author, refs: readonly ObjectRef[]): Promise<ReadonlySet<string>>;
}

type Refused = ReadingRights['unreadable'];

export function readingRights(client: Client, clock: Clock): ReadingRights {
  return { unreadable: refusedTo(client, clock, 'get') };
}

/**
 * Of roles and bindings also what an API server asks of whoever writes more into them than they hold: `escalate` on roles, `bind`
 * on ClusterRoles for bindings. What is changed on its way to a cluster no API server looks at as if they had written it.
 */
export function writingRights(client: Client, clock: Clock): WritingRights {
  const unwritable = refusedTo(client, clock, 'update');
  const unescalated = refusedTo(client, clock, 'escalate');
  const unbound = refusedTo(client, clock, 'bind');
  return {
    async unwritable(author, refs) {
      const ofRights = refs.filter(({ apiVersion }) => parseApiVersion(apiVersion).group === RBAC);
      const bindings = ofRights.filter(({ kind }) => kind.endsWith('Binding'));
      const roles = ofRights.filter(({ kind }) => !kind.endsWith('Binding'));
      const mayBind = bindings.length === 0 || (await unbound(author, [ANY_ROLE])).size === 0;
      const all = await Promise.all([unwritable(author, refs), unescalated(author, roles)]);
      return new Set([...all.flatMap((keys) => [...keys]), ...(mayBind ? [] : bindings.map(refKey))]);
    },
  };
}

const RBAC = 'rbac.authorization.k8s.io';
const ANY_ROLE: ObjectRef = { apiVersion: `${RBAC}/v1`, kind: 'ClusterRole', namespace: '', name: '' };

const ALLOWED_MS = 60_000;
const DENIED_MS = 10_000;
/** Answers that are remembered, the newest ones. */
const MOST_ANSWERS = 10_000;
/** Objects of one intent that are asked about by name; whoever needs more needs the right to the kind. */
const MOST_NAMES = 500;
const AT_ONCE = 8;

interface Answer {
  readonly allowed: Promise<boolean>;
  until: number;
}

/** The whole group of a kind in a namespace is asked about first, and single objects where that is refused. */
function refusedTo(client: Client, clock: Clock, verb: 'get' | 'update' | 'escalate' | 'bind'): Refused {
  const answers = new Map<string, Answer>();

  function may(
    author: Author,
    who: string,
    resource: ResourceId,
    ref: ObjectRef,
    name: string,
  ): Promise<boolean> {
    const namespace = resource.namespaced ? ref.namespace : '';
    const key = `${who} ${resource.group}/${resource.resource}/${namespace}/${name}`;
    const now = clock.monotonic();
    const known = answers.get(key);
    if (known && known.until > now) return known.allowed;
    answers.delete(key);
    const answer: Answer = {
      allowed: review(author, resource, namespace, name).then((allowed) => {
        answer.until = clock.monotonic() + (allowed ? ALLOWED_MS : DENIED_MS);
        return allowed;
      }),
      until: Number.POSITIVE_INFINITY,
    };
    answers.set(key, answer);
    answer.allowed.catch(() => answers.delete(key));
    if (answers.size > MOST_ANSWERS) {
      const [oldest] = answers.keys();
      if (oldest !== undefined) answers.delete(oldest);
    }
    return answer.allowed;
  }

  async function review(
    author: Author,
    resource: ResourceId,
    namespace: string,
    name: string,
  ): Promise<boolean> {
    const question: KubeObject = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      metadata: {},
      spec: {
        user: author.username,
        groups: [...(author.groups ?? [])],
        resourceAttributes: {
          verb,
          group: resource.group,
          version: resource.version,
          resource: resource.resource,
          namespace,
          ...(name === '' ? {} : { name }),
        },
      },
    };
    return at(await client.create(REVIEWS, question), 'status', 'allowed') === true;
  }

  return async (author, refs) => {
    const who = digestOf(author);
    const groups = new Map<string, ObjectRef[]>();
    for (const ref of refs) {
      const key = `${parseApiVersion(ref.apiVersion).group}/${ref.kind}/${ref.namespace}`;
      const group = groups.get(key);
      if (group) group.push(ref);
      else groups.set(key, [ref]);
    }
    const out = new Set<string>();
    const single: { ref: ObjectRef; resource: ResourceId }[] = [];
    await eachOf([...groups.values()], async (group) => {
      const [first] = group;
      if (!first) return;
      const resource = await client.resourceFor(first.apiVersion, first.kind);
      if (await may(author, who, resource, first, '')) return;
      for (const ref of group) single.push({ ref, resource });
    });
    for (const { ref } of single.slice(MOST_NAMES)) out.add(refKey(ref));
    await eachOf(single.slice(0, MOST_NAMES), async ({ ref, resource }) => {
      if (!(await may(author, who, resource, ref, ref.name))) out.add(refKey(ref));
    });
    return out;
  };
}

const REVIEWS: ResourceId = {
  group: 'authorization.k8s.io',
  version: 'v1',
  resource: 'subjectaccessreviews',
  kind: 'SubjectAccessReview',
  namespaced: false,
};

async function eachOf<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
  for (let start = 0; start < items.length; start += AT_ONCE)
    await Promise.all(items.slice(start, start + AT_ONCE).map(act));
}
