import type { Compiled } from '../../../engine/compiled.ts';
import type { KubeObject } from '../../../kube/object.ts';
import type { IntentFindings } from '../intent-source.ts';
import type { IntentRecords, RecordedSource } from '../records.ts';

/** Whose record it is. */
export function recordedSource({ apiVersion, kind, metadata }: KubeObject): RecordedSource {
  const { namespace = '', name = '', uid = '' } = metadata;
  return { apiVersion, kind, namespace, name, uid };
}

/** What the next decision starts from. */
export async function rememberDecision(
  records: IntentRecords,
  object: KubeObject,
  { decision, replicas }: IntentFindings,
): Promise<void> {
  if (object.metadata.deletionTimestamp !== undefined || decision === undefined) return;
  const source = recordedSource(object);
  // Before anything was sent there is nothing to go on from.
  if (records.get(source) === undefined) return;
  await records.write(source, { decision, ...(replicas === undefined ? {} : { replicas }) });
}

/** Nothing is sent and nothing is taken away. */
export function heldIntent(object: KubeObject, problem: string): Compiled {
  const { namespace = '', name = '', uid = '', generation = 0 } = object.metadata;
  return {
    intent: {
      source: { apiVersion: object.apiVersion, kind: object.kind, namespace, name, uid, generation },
      objects: [],
      placement: {},
      overrides: [],
      suspend: true,
      deletionBudget: 0,
    },
    skipped: [],
    emptySelectors: [],
    problems: [problem],
  };
}
