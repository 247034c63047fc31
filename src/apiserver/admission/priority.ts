import { isObject, type JsonObject, stringAt } from '../../schema/json.ts';
import { SYSTEM_PRIORITIES } from '../builtins/index.ts';
import type { AdmissionRequest } from '../rest/scope.ts';
import { namespacePrefix, objectKey } from '../store/key.ts';
import type { AdmissionPlugin } from './plugin.ts';
import { forbiddenStatus } from './refusal.ts';

const GROUP = 'scheduling.k8s.io';
const RESOURCE = 'priorityclasses';

interface Rank {
  readonly name: string;
  readonly value: number;
  readonly preemption: string;
}

/** Gives a new pod the priority of its class, which must exist, or of the class that is the default. */
export const priority: AdmissionPlugin = {
  name: 'Priority',
  validate({ operation, scope, name, object, old }): void {
    const { resource, subresource } = scope;
    if (resource.group !== GROUP || resource.resource !== RESOURCE || subresource !== undefined) return;
    if (operation === 'DELETE') {
      // The request that deletes a collection names none of its objects.
      const { name: deleted = name } = old?.metadata ?? {};
      if (Object.hasOwn(SYSTEM_PRIORITIES, deleted))
        throw forbiddenStatus(
          GROUP,
          RESOURCE,
          deleted,
          'this is a system priority class and cannot be deleted',
        );
      return;
    }
    if (object?.globalDefault !== true) return;
    for (const { object: other } of scope.server.store.list(
      namespacePrefix(GROUP, RESOURCE, scope.cluster, ''),
    ).records) {
      if (other.globalDefault !== true || other.metadata.name === name) continue;
      const why = `PriorityClass ${other.metadata.name ?? ''} is already marked as default. Only one default can exist`;
      throw forbiddenStatus(GROUP, RESOURCE, name, why);
    }
  },
  mutate(request): void {
    const { operation, scope, object } = request;
    const { resource, subresource } = scope;
    if (operation !== 'CREATE' || resource.group !== '' || resource.resource !== 'pods') return;
    if (subresource !== undefined || object === undefined) return;
    const spec = isObject(object.spec) ? object.spec : {};
    object.spec = spec;
    const rank = rankOf(request, spec);
    if (rank.name !== '') spec.priorityClassName = rank.name;
    settle(request, spec, rank);
  },
};

function settle(request: AdmissionRequest, spec: JsonObject, rank: Rank): void {
  const { priority: given, preemptionPolicy } = spec;
  if (given !== undefined && given !== null && given !== rank.value) {
    throw refusal(request, 'integer', 'priority', given, rank.value);
  }
  if (preemptionPolicy !== undefined && preemptionPolicy !== null && preemptionPolicy !== rank.preemption) {
    throw refusal(request, 'string', 'PreemptionPolicy', preemptionPolicy, rank.preemption);
  }
  spec.priority = rank.value;
  spec.preemptionPolicy = rank.preemption;
}

function refusal(
  { name }: AdmissionRequest,
  type: string,
  what: string,
  given: unknown,
  computed: unknown,
): Error {
  return forbiddenStatus(
    '',
    'pods',
    name,
    `the ${type} value of ${what} (${String(given)}) must not be provided in pod spec; priority admission controller computed ${String(computed)} from the given PriorityClass name`,
  );
}

function rankOf(request: AdmissionRequest, spec: JsonObject): Rank {
  const { scope, name } = request;
  const { store } = scope.server;
  const wanted = stringAt(spec, 'priorityClassName') ?? '';
  if (wanted === '') return defaultRank(request);
  const found = store.get(objectKey(GROUP, RESOURCE, scope.cluster, '', wanted))?.object;
  if (found !== undefined) return rank(found);
  const system = Object.hasOwn(SYSTEM_PRIORITIES, wanted) ? SYSTEM_PRIORITIES[wanted] : undefined;
  if (system !== undefined) return { name: wanted, value: system, preemption: PREEMPTS };
  throw forbiddenStatus('', 'pods', name, `no PriorityClass with name ${wanted} was found`);
}

const PREEMPTS = 'PreemptLowerPriority';

function rank(object: {
  readonly metadata: { readonly name?: string };
  readonly [key: string]: unknown;
}): Rank {
  return {
    name: object.metadata.name ?? '',
    value: typeof object.value === 'number' ? object.value : 0,
    preemption: typeof object.preemptionPolicy === 'string' ? object.preemptionPolicy : PREEMPTS,
  };
}

/** Of several defaults, which others refuse to make, the lowest counts. */
function defaultRank({ scope }: AdmissionRequest): Rank {
  let lowest: Rank = { name: '', value: 0, preemption: PREEMPTS };
  for (const { object } of scope.server.store.list(namespacePrefix(GROUP, RESOURCE, scope.cluster, ''))
    .records) {
    if (object.globalDefault !== true) continue;
    const found = rank(object);
    if (lowest.name === '' || found.value < lowest.value) lowest = found;
  }
  return lowest;
}
