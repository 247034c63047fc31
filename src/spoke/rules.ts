import {
  createRuleBook,
  type KindRule,
  RESOURCE_RULE,
  type ResourceRule,
  type RuleBook,
} from '../engine/rules/index.ts';
import type { Client } from '../kube/client.ts';
import { setCondition } from '../kube/conditions.ts';
import { resourceIdOf } from '../kube/custom-resource.ts';
import type { Informer } from '../kube/informer.ts';
import { startInformer } from '../kube/informer-cache.ts';
import type { Condition } from '../kube/object.ts';
import { hasCode } from '../kube/status-error.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { deepEqual } from '../schema/json.ts';

/** The ResourceRules of the cluster, compiled. */
export interface Rules {
  of: RuleBook['of'];
  unknownFields: RuleBook['unknownFields'];
  whenSynced(): Promise<void>;
  stop(): void;
}

export type { KindRule };

const RULES = resourceIdOf(RESOURCE_RULE);

/** Follows the rules. What is wrong with one is said in its status. `onChange` is told the kind, as `group/kind`. */
export function followRules(runtime: Runtime, client: Client, onChange: (kind: string) => void): Rules {
  const book = createRuleBook();
  const informer: Informer<ResourceRule> = startInformer<ResourceRule>(runtime, client, RULES);
  informer.onChange(({ type, object, previous }) => {
    if (type === 'updated' && deepEqual(object.spec, previous?.spec)) return;
    const problems = book.set(object.metadata.name ?? '', type === 'deleted' ? undefined : object.spec);
    for (const rule of [previous, object])
      if (rule) onChange(`${rule.spec.target.group ?? ''}/${rule.spec.target.kind}`);
    if (type === 'deleted') return;
    judge(object, problems).catch((error: unknown) =>
      runtime.log.warn('could not write the status of a rule', {
        rule: object.metadata.name,
        error: String(error),
      }),
    );
  });

  async function judge(rule: ResourceRule, problems: readonly string[]): Promise<void> {
    const { conditions: before } = (rule['status'] ?? {}) as { conditions?: Condition[] };
    const ok = problems.length === 0;
    const { conditions, changed } = setCondition(
      before,
      {
        type: 'Valid',
        status: ok ? 'True' : 'False',
        reason: ok ? 'Compiled' : 'Invalid',
        message: ok ? 'the rule is used' : problems.join('; '),
      },
      runtime.clock.now(),
    );
    if (!changed) return;
    try {
      const patch = { status: { conditions } };
      await client.patch(RULES, '', rule.metadata.name ?? '', 'merge', patch, { subresource: 'status' });
    } catch (error) {
      // It was deleted meanwhile.
      if (!hasCode(error, 404)) throw error;
    }
  }

  return {
    of: book.of,
    unknownFields: book.unknownFields,
    whenSynced: informer.whenSynced,
    stop: informer.stop,
  };
}
