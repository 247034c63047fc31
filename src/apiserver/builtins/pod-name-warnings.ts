import type { KubeObject } from '../../kube/object.ts';
import { validateDns1123Label } from '../../schema/names.ts';

/** Warns of names that are fine for the kind and make poor hostnames of pods. `use` is what the name becomes. */
export function hostnameWarnings(use: string): (object: KubeObject, old: KubeObject | undefined) => string[] {
  return (object, old) => {
    if (old !== undefined) return [];
    const problems = validateDns1123Label(object.metadata.name ?? '');
    return problems.length === 0
      ? []
      : [
          `metadata.name: this is used in ${use}, which can result in surprising behavior; a DNS label is recommended: [${problems.join(' ')}]`,
        ];
  };
}

/** For workloads, whose name begins those of their pods. */
export const workloadNameWarnings: ReturnType<typeof hostnameWarnings> =
  hostnameWarnings('Pod names and hostnames');
