import { SYSTEM_NAMESPACE } from '../../engine/dispatch/index.ts';
import type { Client } from '../../kube/client.ts';
import {
  type ClusterEndpoint,
  checkEndpoint,
  type EndpointRules,
  type Resolve,
} from '../../kube/cluster-endpoint.ts';
import { type CustomKind, resourceIdOf } from '../../kube/custom-resource.ts';
import { type Handler, readBody } from '../../kube/exchange.ts';
import { httpHandler } from '../../kube/http-handler.ts';
import type { KubeObject } from '../../kube/object.ts';
import { secrets } from '../../kube/well-known.ts';
import type { Clock } from '../../runtime/clock.ts';
import { isObject } from '../../schema/json.ts';
import { oneOf, record, text } from '../../schema/schema-of.ts';

/** Where metrics of rollouts are measured. */
export interface AnalysisProvider extends KubeObject {
  readonly spec: {
    readonly type: 'Prometheus';
    readonly url: string;
    /** PEM. */
    readonly ca?: string;
    readonly tokenSecretRef?: { readonly name: string; readonly key?: string };
  };
}

/** Only Secrets of this type are sent to a provider: naming one must not be a way to read it. */
export const ANALYSIS_SECRET_TYPE = 'atoll.dev/analysis-token';

export const ANALYSIS_PROVIDER: CustomKind = {
  group: 'atoll.dev',
  version: 'v1alpha1',
  kind: 'AnalysisProvider',
  plural: 'analysisproviders',
  categories: ['atoll'],
  scope: 'Namespaced',
  description:
    'A server that rollouts of its namespace are measured by; those of cluster-scoped objects by providers in atoll-system.',
  spec: record(
    {
      type: oneOf(['Prometheus'], 'A server with the HTTP API of Prometheus.'),
      url: text(
        'https:// and where the API begins, without /api/v1. The hub must be able to reach it; names inside of clusters, loopback and metadata addresses are refused.',
        { minLength: 1, maxLength: 2048 },
      ),
      ca: text('PEM of the authority of its certificate; those of the system where it is left out.', {
        maxLength: 65_536,
      }),
      tokenSecretRef: record(
        { name: text(undefined, { minLength: 1 }), key: text('token by default.') },
        `A bearer token, in a Secret of the same namespace and of the type ${ANALYSIS_SECRET_TYPE}.`,
        { required: ['name'] },
      ),
    },
    undefined,
    { required: ['type', 'url'] },
  ),
  columns: [
    { name: 'Type', type: 'string', jsonPath: '.spec.type' },
    { name: 'URL', type: 'string', jsonPath: '.spec.url' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
};

/** Opens connections to a server. */
export type OpenEndpoint = (endpoint: ClusterEndpoint) => Handler & { close(): Promise<void> };

export interface MeasuringOptions {
  readonly client: Client;
  readonly clock: Clock;
  /** What the hub may connect to. */
  readonly resolve: Resolve;
  readonly rules: EndpointRules;
  readonly open?: OpenEndpoint;
}

/** One number of a provider. Rejects with what people can do about it; no message quotes a token or an answer. */
export type Measure = (namespace: string, provider: string, query: string) => Promise<number>;

const PROVIDERS = resourceIdOf(ANALYSIS_PROVIDER);
const TIMEOUT_MS = 10_000;
const ANSWER_LIMIT = 1024 * 1024;

export function createMeasure(options: MeasuringOptions): Measure {
  const { client, clock, open = httpHandler } = options;

  async function tokenOf(namespace: string, { spec }: AnalysisProvider): Promise<string | undefined> {
    if (spec.tokenSecretRef === undefined) return undefined;
    const { name, key = 'token' } = spec.tokenSecretRef;
    const secret = await client.get<KubeObject>(secrets, namespace, name);
    if (secret['type'] !== ANALYSIS_SECRET_TYPE)
      throw new Error(`Secret ${name} is not of the type ${ANALYSIS_SECRET_TYPE}, so it is not used`);
    const value = (secret['data'] as Record<string, unknown> | undefined)?.[key];
    if (typeof value !== 'string') throw new Error(`Secret ${name} has no ${key}`);
    return Buffer.from(value, 'base64').toString('utf8').trim();
  }

  return async (namespace, name, query) => {
    const where = namespace === '' ? SYSTEM_NAMESPACE : namespace;
    const provider = await client.get<AnalysisProvider>(PROVIDERS, where, name);
    const { url, ca } = provider.spec;
    // Looked at anew each time: what a name leads to may have changed.
    const refused = await checkEndpoint(url, options.resolve, options.rules);
    if (refused !== undefined) throw new Error(`AnalysisProvider ${name}: ${refused}`);
    const token = await tokenOf(where, provider);
    const handler = open({ url, ...(ca === undefined ? {} : { ca }), ...(token ? { token } : {}) });
    const abort = new AbortController();
    const deadline = clock.after(TIMEOUT_MS, () =>
      abort.abort(new Error(`no answer within ${TIMEOUT_MS / 1000} s`)),
    );
    try {
      const response = await handler({
        method: 'GET',
        path: `/api/v1/query?query=${encodeURIComponent(query)}`,
        headers: { accept: 'application/json' },
        signal: abort.signal,
      });
      const body = await readBody(response, ANSWER_LIMIT);
      if (response.status !== 200) throw new Error(`it answered ${response.status}`);
      return numberOf(body);
    } catch (error) {
      const why = abort.signal.aborted ? abort.signal.reason : error;
      throw new Error(`AnalysisProvider ${name}: ${why instanceof Error ? why.message : 'it failed'}`, {
        cause: error,
      });
    } finally {
      deadline.cancel();
      await handler.close();
    }
  };
}

/** The number in an answer of the Prometheus API: a scalar, or a vector of one. */
export function numberOf(body: Uint8Array): number {
  let answer: unknown;
  try {
    answer = JSON.parse(Buffer.from(body).toString('utf8'));
  } catch (error) {
    throw new Error('its answer is no JSON', { cause: error });
  }
  const data = isObject(answer) ? answer['data'] : undefined;
  if (!isObject(data)) throw new Error('its answer has no data');
  const { resultType, result } = data;
  if (!Array.isArray(result)) throw new Error('its answer has no result');
  if (resultType === 'scalar') return numberIn(result);
  if (resultType !== 'vector') throw new Error('the query gives neither a scalar nor a vector');
  if (result.length !== 1)
    throw new Error(
      result.length === 0
        ? 'the query gives nothing: default it, as in `query or vector(0)`'
        : 'the query gives several values: sum them up',
    );
  const [only] = result;
  const value = isObject(only) ? only['value'] : undefined;
  return numberIn(Array.isArray(value) ? value : []);
}

function numberIn([, value]: readonly unknown[]): number {
  if (typeof value !== 'string' || value.length > 64) throw new Error('its answer has no number');
  if (value === '+Inf') return Infinity;
  if (value === '-Inf') return -Infinity;
  const number = value.trim() === '' ? Number.NaN : Number(value);
  // What cannot be told is not a failure of what is measured.
  if (Number.isNaN(number)) throw new Error('the query gives no number (NaN)');
  return number;
}
