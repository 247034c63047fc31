import {
  createRuleBook,
  type KindRule,
  RESOURCE_RULE,
  type ResourceRule,
  type RuleBook,
} from '../engine/rules/index.ts';
import type { Client } from '../kube/client.ts';
import { resourceIdOf } from '../kube/custom-resource.ts';
import type { Informer } from '../kube/informer.ts';
import { startInformer } from '../kube/informer-cache.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { deepEqual } from '../schema/json.ts';
import { tellValidity } from './validity.ts';

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
    const ok = problems.length === 0;
    const message = ok ? 'the rule is used' : problems.join('; ');
    tellValidity(runtime, client, RULES, object, { ok, message });
  });

  return {
    of: book.of,
    unknownFields: book.unknownFields,
    whenSynced: informer.whenSynced,
    stop: informer.stop,
  };
}
