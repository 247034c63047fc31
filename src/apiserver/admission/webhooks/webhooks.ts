import { asJson, asObject, type KubeObject } from '../../../kube/object.ts';
import { badRequest, hasCode, internalError, StatusError } from '../../../kube/status-error.ts';
import { errorText, type Runtime, uuid } from '../../../runtime/index.ts';
import { clone, deepEqual, isObject, type JsonValue } from '../../../schema/json.ts';
import { applyJsonPatch } from '../../../schema/json-patch.ts';
import { PatchError } from '../../../schema/patch-error.ts';
import type { Resource } from '../../resource.ts';
import type { AdmissionRequest, Scope } from '../../rest/scope.ts';
import { changes, type RemoteAdmission } from '../plugin.ts';
import { forbiddenStatus } from '../refusal.ts';
import { type ResolveService, targetOf } from './client-config.ts';
import type { Configurations, Webhook } from './configurations.ts';
import { concernedResource, isExempt, matchesNamespace, matchesObject } from './match.ts';
import type { ConditionCheck } from './match-conditions.ts';
import { denial, reviewOf, reviewRequest, type Verdict, verdictOf } from './review.ts';
import { postReview, type WebhookCaller, WebhookFailure } from './webhook-client.ts';

export interface WebhookAdmissionOptions {
  readonly configurations: Configurations;
  readonly call: WebhookCaller;
  readonly resolveService: ResolveService;
  readonly conditions: ConditionCheck;
  readonly forms: ObjectForms;
  /** Names of plugins that are switched off. */
  readonly disabled: ReadonlySet<string>;
}

/** How the object of a request looks to a webhook, and how what the webhook makes of it is taken. */
export interface ObjectForms {
  show(scope: Scope, shown: Resource, object: KubeObject): KubeObject | Promise<KubeObject>;
  /** Changes `object` into what `patched` says of it. */
  take(scope: Scope, shown: Resource, patched: KubeObject, object: KubeObject): void | Promise<void>;
}

/** A webhook, and as what it wants to see the request. */
interface Concern {
  /** Its place in the order, for the audit. */
  readonly index: number;
  readonly webhook: Webhook;
  readonly shown: Resource;
}

/** Asks the webhooks that configurations name. */
export function webhookAdmission(runtime: Runtime, options: WebhookAdmissionOptions): RemoteAdmission {
  const { configurations, forms } = options;
  const isOff = {
    mutating: options.disabled.has('MutatingAdmissionWebhook'),
    validating: options.disabled.has('ValidatingAdmissionWebhook'),
  };

  /** Webhooks whose rules and namespaces fit. Objects may still change, so their labels are looked at later. */
  function concerned(request: AdmissionRequest, phase: 'mutating' | 'validating'): Concern[] {
    const webhooks = isOff[phase] ? undefined : configurations.of(request.scope.cluster)?.[phase];
    if (webhooks === undefined || webhooks.length === 0 || isExempt(request.scope.resource)) return [];
    const found: Concern[] = [];
    for (const webhook of webhooks) {
      const shown = concernedResource(webhook, request);
      if (shown && matchesNamespace(webhook, request)) found.push({ index: found.length, webhook, shown });
    }
    return found;
  }

  /** The answer of a webhook; `undefined` when it need not be asked, or cannot be and that does not matter. */
  async function ask(
    { index, webhook, shown }: Concern,
    request: AdmissionRequest,
    mutating: boolean,
    round: number = 0,
  ): Promise<Verdict | undefined> {
    const { scope, object, old } = request;
    if (!matchesObject(webhook, object, old)) return undefined;
    const show = (one: KubeObject | undefined): KubeObject | undefined | Promise<KubeObject> =>
      one && forms.show(scope, shown, one);
    const uid = uuid(runtime.random);
    const seen = await show(object);
    const seenOld = await show(old);
    const asked = reviewRequest(uid, request, shown, seen, seenOld);
    const conditions = options.conditions(webhook, request, () => ({
      request: asked,
      object: seen,
      old: seenOld,
    }));
    if (conditions === false) return undefined;
    if (typeof conditions === 'string') {
      if (webhook.ignoresFailure) return undefined;
      throw forbiddenStatus(scope.resource.group, scope.resource.resource, request.name, conditions);
    }
    if (request.dryRun && !webhook.allowsDryRun)
      throw badRequest(`admission webhook ${JSON.stringify(webhook.name)} does not support dry run`);
    try {
      const target = targetOf(webhook.client, scope.cluster, options.resolveService, webhook.timeoutMs);
      const review = reviewOf(webhook.reviewVersion, asked);
      const answer = await postReview(runtime.clock, options.call, target, review, webhook.timeoutMs);
      const verdict = verdictOf(answer, webhook.reviewVersion, uid, mutating);
      for (const [key, value] of Object.entries(verdict.auditAnnotations))
        scope.annotate?.(`${webhook.name}/${key}`, value);
      return verdict;
    } catch (error) {
      if (!(error instanceof WebhookFailure)) throw error;
      const text = `failed calling webhook ${JSON.stringify(webhook.name)}: ${error.message}`;
      if (!webhook.ignoresFailure) throw internalError(text, error);
      runtime.log.warn('a webhook failed, which its configuration says to ignore', {
        webhook: webhook.name,
        error: errorText(error),
      });
      scope.annotate?.(
        `failed-open.${mutating ? 'mutating' : 'validating'}.webhook.admission.k8s.io/round_${round}_index_${index}`,
        webhook.name,
      );
      return undefined;
    }
  }

  /** Lets a webhook change the object. Says whether it was asked, and whether the object is another one now. */
  async function consult(
    concern: Concern,
    request: AdmissionRequest,
    round: number,
  ): Promise<{ asked: boolean; changed: boolean }> {
    const verdict = await ask(concern, request, true, round);
    if (verdict === undefined) return { asked: false, changed: false };
    const { name } = concern.webhook;
    for (const text of verdict.warnings) request.scope.warn(text);
    if (!verdict.allowed) throw denial(name, verdict.status);
    if (verdict.patch === undefined) return { asked: true, changed: false };
    if (!request.object)
      throw internalError(
        `admission webhook ${JSON.stringify(name)} attempted to modify the object, which is not supported for this operation`,
      );
    return { asked: true, changed: await patch(concern, request, request.object, verdict.patch) };
  }

  async function patch(
    { webhook, shown }: Concern,
    { scope }: AdmissionRequest,
    object: KubeObject,
    operations: JsonValue,
  ): Promise<boolean> {
    const before = clone(asJson(object));
    const { name, namespace } = object.metadata;
    const problem = (why: string, cause?: unknown): Error =>
      internalError(
        `the patch of admission webhook ${JSON.stringify(webhook.name)} cannot be used: ${why}`,
        cause,
      );
    try {
      const patched = applyJsonPatch(asJson(await forms.show(scope, shown, object)), operations);
      if (!isObject(patched) || !isObject(patched.metadata)) throw problem('it does not leave an object');
      await forms.take(scope, shown, asObject(patched), object);
    } catch (error) {
      if (error instanceof PatchError) throw problem(error.message, error);
      if (hasCode(error, 400)) throw problem(error.message, error);
      throw error;
    }
    if (object.metadata.name !== name || object.metadata.namespace !== namespace)
      throw problem('it changes the name or the namespace of the object');
    return !deepEqual(before, asJson(object));
  }

  async function mutateAll(
    concerns: readonly Concern[],
    request: AdmissionRequest,
    again: () => void,
  ): Promise<void> {
    const repeatable: Concern[] = [];
    const due = new Set<Concern>();
    let changed = false;
    for (const concern of concerns) {
      const outcome = await consult(concern, request, 0);
      if (outcome.changed) {
        changed = true;
        for (const earlier of repeatable) due.add(earlier);
      }
      if (outcome.asked && concern.webhook.reinvoked) repeatable.push(concern);
    }
    if (!changed) return;
    if (changes(request, again)) for (const concern of repeatable) due.add(concern);
    // One more round, and no third.
    for (const concern of concerns) if (due.has(concern)) await consult(concern, request, 1);
  }

  async function validateAll(concerns: readonly Concern[], request: AdmissionRequest): Promise<void> {
    const verdicts = await Promise.allSettled(concerns.map((concern) => ask(concern, request, false)));
    let refusal: unknown;
    for (const [index, verdict] of verdicts.entries()) {
      if (verdict.status === 'rejected') refusal ??= verdict.reason;
      else if (verdict.value) {
        for (const text of verdict.value.warnings) request.scope.warn(text);
        if (!verdict.value.allowed)
          refusal ??= denial(concerns[index]?.webhook.name ?? '', verdict.value.status);
      }
    }
    if (refusal !== undefined)
      throw refusal instanceof Error ? refusal : new StatusError(internalError(String(refusal)).status);
  }

  return {
    mayWait: ({ cluster, resource }) => configurations.of(cluster) !== undefined && !isExempt(resource),
    mutate(request, again) {
      const concerns = concerned(request, 'mutating');
      return concerns.length === 0 ? undefined : mutateAll(concerns, request, again);
    },
    validate(request) {
      const concerns = concerned(request, 'validating');
      return concerns.length === 0 ? undefined : validateAll(concerns, request);
    },
  };
}
