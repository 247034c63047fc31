import type { JsonObject } from '../../schema/json.ts';
import { objectsOf, text } from './fields.ts';

/** What the admission plugins that every server runs give a new pod, by plugin name. */
export const POD_ADMISSION: Readonly<Record<string, (spec: JsonObject) => void>> = {
  ServiceAccount(spec) {
    if (text(spec, 'serviceAccountName') !== '') return;
    spec.serviceAccountName = 'default';
    spec.serviceAccount = 'default';
  },

  DefaultTolerationSeconds(spec) {
    const given = objectsOf(spec, 'tolerations');
    const added: JsonObject[] = [];
    for (const key of ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']) {
      if (given.some((toleration) => tolerates(toleration, key))) continue;
      added.push({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 });
    }
    if (added.length > 0) spec.tolerations = [...given, ...added];
  },
};

/** Priorities of the two classes that exist on every server. */
export const SYSTEM_PRIORITIES: Readonly<Record<string, number>> = {
  'system-cluster-critical': 2_000_000_000,
  'system-node-critical': 2_000_001_000,
};

function tolerates(toleration: JsonObject, key: string): boolean {
  const own = text(toleration, 'key');
  const effect = text(toleration, 'effect');
  return (own === key || own === '') && (effect === 'NoExecute' || effect === '');
}
