import { isObject, listAt, numberAt, stringAt } from '../../schema/json.ts';
import { healthByConditions } from './conditions.ts';
import { type Assess, conditionOf, degraded, progressing } from './verdict.ts';

/**
 * A definition of a resource graph is as well as it is served, and as its instances are: whoever brought it to a cluster wants
 * to know of them. Instances that failed are told with a reason that says so.
 */
const ResourceGraphDefinition: Assess = (object) => {
  const { generation = 0 } = object.metadata;
  const ready = listAt(object, 'status', 'conditions').find(
    (condition) => isObject(condition) && stringAt(condition, 'type') === 'Ready',
  );
  const observed = numberAt(ready, 'observedGeneration');
  if (observed === undefined || observed < generation)
    return progressing('NotObserved', 'its controller has not seen it yet');
  const health = healthByConditions(object);
  const accepted = conditionOf(object, 'GraphAccepted');
  if (accepted?.status === 'False') return degraded(accepted.reason, accepted.message);
  const instances = conditionOf(object, 'InstancesReady');
  if (health.state !== 'Healthy' || !instances) return health;
  if (instances.status === 'True') return health;
  return (instances.reason === 'InstancesFailed' ? degraded : progressing)(
    instances.reason,
    instances.message,
  );
};

export const GRAPH_RULES: Readonly<Record<string, Assess>> = {
  'kro.run/ResourceGraphDefinition': ResourceGraphDefinition,
};
