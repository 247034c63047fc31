import { type Contract, type Foreseen, foresee, foreseenText } from '../../engine/contract/index.ts';
import type { Dispatch } from '../../engine/dispatch/index.ts';
import type { Intent } from '../../engine/intent.ts';
import { contentOn, type Plan } from '../../engine/plan/plan.ts';
import { refKey } from '../../kube/object.ts';
import type { SpokeContracts } from './spoke-contracts.ts';

/** What the owners of clusters will refuse of an intent, for the condition `Permitted`. */
export interface ForeseenRefusals {
  /** Undefined where nothing is foreseen. */
  of(
    intent: Intent,
    plan: Plan,
    present: (cluster: string) => Dispatch | undefined,
  ): PermittedFinding | undefined;
}

export interface PermittedFinding {
  readonly ok: false;
  readonly reason: 'ContractRefuses';
  readonly message: string;
}

/** Clusters named in the message. */
const MOST_NAMED = 5;

/** Computed once for each plan, cluster and contract; nothing at all for clusters without one. */
export function foreseenRefusals(contracts: SpokeContracts): ForeseenRefusals {
  const remembered = new WeakMap<Plan, Map<string, Remembered>>();

  function on(
    cluster: string,
    intent: Intent,
    plan: Plan,
    present: Dispatch | undefined,
  ): readonly Foreseen[] {
    const rules = contracts.of(cluster);
    if (rules.length === 0) return [];
    let byCluster = remembered.get(plan);
    if (!byCluster) {
      byCluster = new Map();
      remembered.set(plan, byCluster);
    }
    const known = byCluster.get(cluster);
    if (known?.contracts === rules && known.present === present?.spec) return known.foreseen;
    const staying = new Set(plan.objects.map(refKey));
    const { objects } = contentOn(intent.objects, plan, cluster);
    const foreseen = foresee(rules, {
      objects,
      leaving: present?.spec.objects.filter((ref) => !staying.has(refKey(ref))) ?? [],
      author: intent.author,
      source: intent.source,
    });
    byCluster.set(cluster, { contracts: rules, present: present?.spec, foreseen });
    return foreseen;
  }

  return {
    of(intent, plan, present): PermittedFinding | undefined {
      const refusing: { cluster: string; text: string }[] = [];
      let objects = 0;
      for (const cluster of plan.decision.chosen) {
        const foreseen = on(cluster, intent, plan, present(cluster));
        const text = foreseenText(foreseen);
        if (text === undefined) continue;
        objects += foreseen.length;
        refusing.push({ cluster, text });
      }
      const [first] = refusing;
      if (!first) return undefined;
      const names = refusing.slice(0, MOST_NAMED).map(({ cluster }) => cluster);
      const more = refusing.length > names.length ? ', …' : '';
      return {
        ok: false,
        reason: 'ContractRefuses',
        message: `${objects} objects will be refused on ${names.join(', ')}${more}; ${first.cluster}: ${first.text}`,
      };
    },
  };
}

interface Remembered {
  readonly contracts: readonly Contract[];
  readonly present: Dispatch['spec'] | undefined;
  readonly foreseen: readonly Foreseen[];
}
