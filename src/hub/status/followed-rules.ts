import { createRuleBook, RESOURCE_RULE, type ResourceRule, type RuleBook } from '../../engine/rules/index.ts';
import type { Client } from '../../kube/client.ts';
import { resourceIdOf } from '../../kube/custom-resource.ts';
import { startInformer } from '../../kube/informer-cache.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { deepEqual } from '../../schema/json.ts';

/** The ResourceRules of the hub. What is wrong with one is said by the engine of the cluster that it is on as a spoke. */
export interface FollowedRules {
  of: RuleBook['of'];
  stop(): void;
}

export function followResourceRules(runtime: Runtime, client: Client): FollowedRules {
  const book = createRuleBook();
  const informer = startInformer<ResourceRule>(runtime, client, resourceIdOf(RESOURCE_RULE));
  informer.onChange(({ type, object, previous }) => {
    if (type === 'updated' && deepEqual(object.spec, previous?.spec)) return;
    book.set(object.metadata.name ?? '', type === 'deleted' ? undefined : object.spec);
  });
  return { of: book.of, stop: informer.stop };
}
