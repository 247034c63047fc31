import { asJson, asObject, formatApiVersion } from '../../kube/object.ts';
import { errorText, formatTime } from '../../runtime/index.ts';
import { applyObject } from '../../schema/apply/index.ts';
import { clone, type JsonObject, objectAt } from '../../schema/json.ts';
import { objectsOf, text } from '../builtins/fields.ts';
import { FLOW_CONSUMER, FLOW_CONTROL_GROUP } from '../flow-objects.ts';
import { clusterPrefix, objectKey, parseKey, resourcePrefix } from '../store/key.ts';
import { commit } from './commit.ts';
import type { Decision } from './decision.ts';
import type { RestServer, Scope, WriteOptions } from './scope.ts';
import { CONTROLLER_USER } from './server-actions.ts';
import { otherVersion } from './tracking.ts';
import { prepareUpdate } from './update.ts';
import { viewOf } from './view.ts';

const SCHEMAS = 'flowschemas';
const LEVELS = 'prioritylevelconfigurations';
const DANGLING = 'Dangling';
const OPTIONS: WriteOptions = { fieldManager: FLOW_CONSUMER, fieldValidation: 'Ignore', dryRun: false };

/**
 * Notes in flow schemas whether the priority level that they name is there: after one of either kind changed, or went. What was written
 * stays so where this fails, and whoever wrote it is not told of it.
 */
export async function noteDangling(server: RestServer, key: string): Promise<void> {
  try {
    await note(server, key);
  } catch (error) {
    server.runtime.log.warn('noting in flow schemas whether their priority level is there failed', {
      key,
      error: errorText(error),
    });
  }
}

async function note(server: RestServer, key: string): Promise<void> {
  const { group, resource, cluster, name } = parseKey(key);
  if (group !== FLOW_CONTROL_GROUP) return;
  if (resource === SCHEMAS) await noteOne(server, cluster, name);
  if (resource !== LEVELS) return;
  const schemas = server.store.list(clusterPrefix(FLOW_CONTROL_GROUP, SCHEMAS, cluster)).records;
  for (const { object } of schemas)
    if (levelOf(asJson(object)) === name) await noteOne(server, cluster, object.metadata.name ?? '');
}

/** Sees to the flow schemas of priority levels that go, or that nobody's request brings back. Returns how to stop. */
export function followPriorityLevels(server: RestServer): () => void {
  const { store } = server;
  const watch = store.watch(resourcePrefix(FLOW_CONTROL_GROUP, LEVELS), store.revision, (events) => {
    for (const { type, record } of events)
      if (type === 'deleted' || (type === 'created' && !record.shared)) void noteDangling(server, record.key);
  });
  return () => watch.stop();
}

function levelOf(schema: JsonObject): string {
  return text(objectAt(schema, 'spec', 'priorityLevelConfiguration'), 'name');
}

async function noteOne(server: RestServer, cluster: string, name: string): Promise<void> {
  const resource = server.resources(cluster).stored(FLOW_CONTROL_GROUP, SCHEMAS);
  if (!resource) return;
  const scope: Scope = {
    server,
    cluster,
    resource,
    namespace: '',
    user: CONTROLLER_USER,
    warn: () => {},
    subresource: { name: 'status', verbs: [] },
  };
  await commit(scope, name, false, (current): Decision => {
    if (!current) return { action: 'keep' };
    const live = viewOf(resource, current).object;
    const level = levelOf(asJson(live));
    const isThere = server.store.get(objectKey(FLOW_CONTROL_GROUP, LEVELS, cluster, '', level)) !== undefined;
    const names = `This FlowSchema references the PriorityLevelConfiguration object named ${JSON.stringify(level)}`;
    const status = isThere ? 'False' : 'True';
    const reason = isThere ? 'Found' : 'NotFound';
    const message = isThere ? `${names} and it exists` : `${names} but there is no such object`;
    const present = objectsOf(objectAt(live, 'status'), 'conditions').find(
      (condition) => text(condition, 'type') === DANGLING,
    );
    const since = text(present, 'lastTransitionTime');
    const isSame = text(present, 'status') === status && since !== '';
    if (isSame && text(present, 'reason') === reason && text(present, 'message') === message)
      return { action: 'keep' };
    const now = formatTime(server.runtime.clock.now());
    const condition = { type: DANGLING, status, lastTransitionTime: isSame ? since : now, reason, message };
    const apiVersion = formatApiVersion(resource.group, resource.version);
    const applied: JsonObject = {
      apiVersion,
      kind: resource.kind,
      metadata: { name },
      status: { conditions: [condition] },
    };
    const result = applyObject({
      live: asJson(live),
      applied,
      manager: FLOW_CONSUMER,
      force: true,
      subresource: 'status',
      apiVersion,
      time: now,
      type: resource.type,
      typeOf: (other) => otherVersion(scope, other),
      resetFields: resource.strategy.resetFields.status,
    });
    // What is stored can be applied to; if not, the next change of the schema tells.
    if (!('object' in result)) return { action: 'keep' };
    return prepareUpdate(scope, asObject(clone(result.object)), live, OPTIONS, true);
  });
}
