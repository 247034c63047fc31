import {
  CLUSTER_OVERRIDE_POLICY,
  closeness,
  OVERRIDE_POLICY,
  type OverridePolicy,
  overridesOfPolicies,
  policyText,
} from '../../dialects/karmada/index.ts';
import type { Compiled } from '../../engine/compiled.ts';
import type { Client } from '../../kube/client.ts';
import { resourceIdOf } from '../../kube/custom-resource.ts';
import { startEventRecorder } from '../../kube/events.ts';
import type { Change, Informer } from '../../kube/informer.ts';
import { startInformer } from '../../kube/informer-cache.ts';
import { type KubeObject, refKey, refOf, refText } from '../../kube/object.ts';
import { hasCode } from '../../kube/status-error.ts';
import { errorText } from '../../runtime/log.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { deepEqual } from '../../schema/json.ts';
import { writingRights } from '../author/index.ts';
import type { IntentObject } from '../intents/index.ts';
import { installKind } from '../kubefed/index.ts';
import { authorOf, installAuthorPolicy } from '../policies/index.ts';

const KINDS = [CLUSTER_OVERRIDE_POLICY, OVERRIDE_POLICY];
/** Policies whose last refusal is remembered, so that it is told once. */
const MOST_TOLD = 1_000;

export interface OverridePolicies {
  /** An intent with what policies make of its objects. `refused` where a policy was left out: rights may be given at any time. */
  into(compiled: Compiled, from: IntentObject): Promise<{ compiled: Compiled; refused: boolean }>;
  /** Resolves when all policies are known, or it is known why they are not. */
  whenKnown(): Promise<void>;
  /** Why nobody knows which policies there are: then nothing may be sent, since they may change it. */
  unread(): string | undefined;
  stop(): void;
}

export interface OverridePoliciesOptions {
  readonly client: Client;
  /** A policy changed, and with it what is made of the objects that `means` means. */
  readonly onChange: (means: (object: KubeObject) => boolean) => void;
}

interface Followed {
  readonly informer: Informer<OverridePolicy>;
  readonly known: Promise<void>;
  /** Why they could not be listed at last. */
  failure?: string;
}

/** Serves the kinds of override policies, unless somebody else does, and has the hub's API server write down who writes them. */
export async function installOverridePolicies(runtime: Runtime, client: Client): Promise<boolean> {
  await Promise.all(KINDS.map((kind) => installKind(client, kind)));
  return installAuthorPolicy(client, runtime.log, {
    name: 'atoll.dev-override-author',
    groups: [OVERRIDE_POLICY.group],
    resources: KINDS.map(({ plural }) => plural),
  });
}

/**
 * Follows override policies. A policy acts with the rights of whoever wrote it last: it changes only what its author may update
 * at the hub: the objects that are sent or, where an object holds what it brings, that object. It is left out otherwise, and an
 * Event of it says so: it holds nobody else's objects up. `authored` says whether the names of authors are to be believed.
 */
export function followOverridePolicies(
  runtime: Runtime,
  authored: boolean,
  { client, onChange }: OverridePoliciesOptions,
): OverridePolicies {
  const rights = writingRights(client, runtime.clock);
  const recorder = startEventRecorder(runtime, client, { component: 'atoll' });
  const told = new Map<string, string>();
  const informers = KINDS.map((kind) => {
    const known = Promise.withResolvers<void>();
    const followed: Followed = {
      known: known.promise,
      informer: startInformer<OverridePolicy>(runtime, client, resourceIdOf(kind), {
        onFailure(error) {
          // Where somebody serves other versions of the kind only there are none.
          if (hasCode(error, 404)) delete followed.failure;
          else followed.failure = errorText(error);
          known.resolve();
        },
      }),
    };
    const { informer } = followed;
    informer.whenSynced().then(
      () => {
        const wasUnread = followed.failure !== undefined;
        delete followed.failure;
        known.resolve();
        if (wasUnread) onChange(() => true);
      },
      () => known.resolve(),
    );
    informer.onChange(noteChange);
    return followed;
  });

  function noteChange({ type, object, previous }: Change<OverridePolicy>): void {
    if (type === 'updated' && previous && isSame(object, previous)) return;
    const states = [object, ...(previous ? [previous] : [])];
    onChange((meant) => states.some((state) => closeness(state, meant) !== undefined));
  }

  function tell(policy: OverridePolicy, message: string): void {
    const key = policy.metadata.uid ?? '';
    if (told.get(key) === message) return;
    told.delete(key);
    told.set(key, message);
    const [oldest] = told.keys();
    if (told.size > MOST_TOLD && oldest !== undefined) told.delete(oldest);
    recorder.record(policy, 'Warning', 'NotAllowed', message);
  }

  /** Those of the objects that the author of a policy may change. */
  async function allowed(
    policy: OverridePolicy,
    objects: readonly KubeObject[],
    from: IntentObject,
  ): Promise<readonly KubeObject[]> {
    const author = authored ? authorOf(policy) : undefined;
    if (!author) {
      const why = authored
        ? 'it was written before the hub knew who writes; write it again'
        : "the hub's API server does not tell who writes";
      tell(policy, `${policyText(policy)} changes nothing: nobody is known to be its author, since ${why}`);
      return [];
    }
    const own = from.source.selfContained === true;
    const refs = own ? [refOf(from.object)] : objects.map(refOf);
    const refused = await rights.unwritable(author, refs);
    const [first] = refs.filter((ref) => refused.has(refKey(ref)));
    if (!first) return objects;
    tell(
      policy,
      `${author.username}, who wrote ${policyText(policy)}, may not update ${refText(first)}${refused.size > 1 ? ` and ${refused.size - 1} more` : ''} at the hub: it is not changed by it`,
    );
    return own ? [] : objects.filter((object) => !refused.has(refKey(refOf(object))));
  }

  return {
    async into(compiled, from) {
      const { intent } = compiled;
      const meant = informers.flatMap(({ informer }) =>
        informer.list().flatMap((policy) => {
          if (policy.metadata.deletionTimestamp !== undefined) return [];
          const objects = intent.objects.filter((object) => closeness(policy, object) !== undefined);
          return objects.length === 0 ? [] : [{ policy, objects }];
        }),
      );
      if (meant.length === 0) return { compiled, refused: false };
      const granted = await Promise.all(
        meant.map(async ({ policy, objects }) => ({
          policy,
          objects: await allowed(policy, objects, from),
          asked: objects.length,
        })),
      );
      // What an intent says of itself is closer than any policy.
      const overrides = [...overridesOfPolicies(granted), ...intent.overrides];
      return {
        compiled: { ...compiled, intent: { ...intent, overrides } },
        refused: granted.some(({ objects, asked }) => objects.length < asked),
      };
    },
    async whenKnown(): Promise<void> {
      await Promise.all(informers.map(({ known }) => known));
    },
    unread(): string | undefined {
      const failure = informers.find((each) => !each.informer.synced && each.failure !== undefined)?.failure;
      return failure === undefined ? undefined : `override policies cannot be read by the hub: ${failure}`;
    },
    stop(): void {
      for (const { informer } of informers) informer.stop();
      recorder.stop();
    },
  };
}

function isSame(a: OverridePolicy, b: OverridePolicy): boolean {
  return (
    deepEqual(a.spec, b.spec) &&
    deepEqual(authorOf(a) ?? null, authorOf(b) ?? null) &&
    a.metadata.deletionTimestamp === b.metadata.deletionTimestamp
  );
}
