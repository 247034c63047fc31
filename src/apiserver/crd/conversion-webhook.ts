import { formatApiVersion, gvkOf, type KubeObject } from '../../kube/object.ts';
import { failure } from '../../kube/status-error.ts';
import { type Runtime, uuid } from '../../runtime/index.ts';
import { clone, isObject, type JsonObject, listAt, objectAt, stringAt } from '../../schema/json.ts';
import { plainText } from '../../schema/json-text.ts';
import {
  clientConfigOf,
  postReview,
  type ResolveService,
  targetOf,
  type WebhookCaller,
  WebhookFailure,
} from '../admission/webhooks/index.ts';
import type { Resource } from '../resource.ts';

const GROUP = 'apiextensions.k8s.io';
const TIMEOUT_MS = 30_000;

/** Converts objects of a custom resource to another of its versions. Throws the `StatusError` of a failure. */
export type Convert = (
  cluster: string,
  resource: Resource,
  objects: readonly KubeObject[],
  version: string,
) => Promise<KubeObject[]>;

/**
 * Conversion by webhooks: a ConversionReview for all objects that are in another version. What comes back has the metadata
 * of what was sent, labels and annotations apart: a webhook converts an object, it does not make another of it.
 */
export function conversionWebhooks(
  runtime: Runtime,
  options: { readonly call: WebhookCaller; readonly resolveService: ResolveService },
): Convert {
  return async (cluster, resource, objects, version) => {
    const desired = formatApiVersion(resource.group, version);
    const foreign = objects.filter((object) => object.apiVersion !== desired);
    if (foreign.length === 0) return objects.map(clone);
    const { apiVersion, kind } = foreign[0] ?? { apiVersion: desired, kind: resource.kind };
    const about = `conversion webhook for ${apiVersion}, Kind=${kind}`;
    const uid = uuid(runtime.random);
    const { clientConfig = {}, reviewVersions = [] } = resource.conversion ?? {};
    const known = reviewVersions.find((name) => name === 'v1' || name === 'v1beta1') ?? 'v1';
    const reviewVersion = formatApiVersion(GROUP, known);
    const request = { uid, desiredAPIVersion: desired, objects: foreign };
    const review = { kind: 'ConversionReview', apiVersion: reviewVersion, request };
    let answer: JsonObject;
    try {
      const target = targetOf(clientConfigOf(clientConfig), cluster, options.resolveService, TIMEOUT_MS);
      answer = await postReview(runtime.clock, options.call, target, review, TIMEOUT_MS);
    } catch (error) {
      if (!(error instanceof WebhookFailure)) throw error;
      throw failed(`${about} failed: ${error.message.replace(/^failed to call webhook: /, '')}`);
    }
    const problem = answerProblem(answer, reviewVersion, uid);
    if (problem !== undefined) throw failed(`${about} failed: ${problem}`);
    const converted = listAt(answer, 'response', 'convertedObjects');
    if (converted.length !== foreign.length)
      throw failed(`${about} returned ${converted.length} objects, expected ${foreign.length}`);
    let next = 0;
    return objects.map((object) => {
      if (object.apiVersion === desired) return clone(object);
      const index = next++;
      const result = converted[index];
      const wrong = objectProblem(object, result, desired);
      if (wrong !== undefined)
        throw failed(`${about} returned invalid converted object at index ${index}: ${wrong}`);
      return withMetadataOf(object, result as unknown as KubeObject);
    });
  };
}

function failed(message: string): Error {
  return failure(500, '', message);
}

function answerProblem(answer: JsonObject, apiVersion: string, uid: string): string | undefined {
  const response = objectAt(answer, 'response');
  if (!response) return 'no response provided';
  const given = `${stringAt(answer, 'apiVersion') ?? ''}, Kind=${stringAt(answer, 'kind') ?? ''}`;
  if (given !== `${apiVersion}, Kind=ConversionReview`)
    return `expected webhook response of ${apiVersion}, Kind=ConversionReview, got ${given}`;
  const answered = stringAt(response, 'uid') ?? '';
  if (answered !== uid && apiVersion === formatApiVersion(GROUP, 'v1'))
    return `expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(answered)}`;
  const status = stringAt(response, 'result', 'status') ?? '';
  if (status === 'Success') return undefined;
  return stringAt(response, 'result', 'message') || `response.result.status was '${status}', not 'Success'`;
}

function objectProblem(original: KubeObject, converted: unknown, desired: string): string | undefined {
  if (!isObject(converted)) return 'it is no object';
  const { apiVersion, kind, metadata } = converted;
  if (apiVersion !== desired)
    return `invalid groupVersion (received ${plainText(apiVersion)}, expected ${desired})`;
  if (kind !== original.kind) return `must have the same kind: ${gvkOf(original).kind} != ${plainText(kind)}`;
  if (!isObject(metadata)) return 'missing metadata in converted object';
  for (const [field, text] of [
    ['name', 'name'],
    ['namespace', 'namespace'],
    ['uid', 'UID'],
  ] as const) {
    const before = original.metadata[field] ?? '';
    const after = metadata[field] ?? '';
    if (before !== after) return `must have the same ${text}: ${before} != ${plainText(after)}`;
  }
  for (const field of ['labels', 'annotations']) {
    const value = metadata[field] ?? {};
    if (!isObject(value) || Object.values(value).some((text) => typeof text !== 'string'))
      return `invalid metadata.${field} in converted object`;
  }
  return undefined;
}

function withMetadataOf(original: KubeObject, converted: KubeObject): KubeObject {
  const { labels, annotations } = converted.metadata;
  const { labels: _labels, annotations: _annotations, ...kept } = clone(original.metadata);
  converted.metadata = {
    ...kept,
    ...(labels && Object.keys(labels).length > 0 ? { labels } : {}),
    ...(annotations && Object.keys(annotations).length > 0 ? { annotations } : {}),
  };
  return converted;
}
