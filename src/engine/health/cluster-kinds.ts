import { listAt, stringAt } from '../../schema/json.ts';
import { type Assess, conditionOf, degraded, healthy, lookAt, progressing } from './verdict.ts';

const PersistentVolumeClaim: Assess = (object) => {
  const phase = stringAt(object, 'status', 'phase') ?? 'Pending';
  if (phase === 'Bound') {
    const resize = conditionOf(object, 'FileSystemResizePending') ?? conditionOf(object, 'Resizing');
    return resize?.status === 'True' ? progressing('Resizing', resize.message || 'it is growing') : healthy();
  }
  return phase === 'Lost'
    ? degraded('Lost', 'its volume is lost')
    : progressing('Pending', `no volume is bound yet; ${lookAt(object)}`);
};

const PersistentVolume: Assess = (object) => {
  const phase = stringAt(object, 'status', 'phase') ?? 'Pending';
  if (phase === 'Failed')
    return degraded('Failed', stringAt(object, 'status', 'message') ?? 'it could not be reclaimed');
  return phase === 'Pending' ? progressing('Pending', 'it is not available yet') : healthy(phase);
};

const Service: Assess = (object) => {
  if (stringAt(object, 'spec', 'type') !== 'LoadBalancer') return healthy();
  return listAt(object, 'status', 'loadBalancer', 'ingress').length > 0
    ? healthy()
    : progressing('NoAddress', `no load balancer address yet; ${lookAt(object)}`);
};

/** Many controllers tell no address, and a cluster may have none: whoever wants one asks for it in a ResourceRule. */
const Ingress: Assess = (object) =>
  listAt(object, 'status', 'loadBalancer', 'ingress').length > 0 ? healthy() : healthy('it has no address');

const Namespace: Assess = (object) =>
  stringAt(object, 'status', 'phase') === 'Terminating'
    ? progressing('Terminating', 'it is being deleted')
    : healthy();

const CustomResourceDefinition: Assess = (object) => {
  for (const type of ['NamesAccepted', 'NonStructuralSchema']) {
    const found = conditionOf(object, type);
    if (found?.status === (type === 'NamesAccepted' ? 'False' : 'True'))
      return degraded(found.reason, found.message);
  }
  return conditionOf(object, 'Established')?.status === 'True'
    ? healthy()
    : progressing('Installing', 'it is not established yet');
};

const APIService: Assess = (object) => {
  const available = conditionOf(object, 'Available');
  if (available?.status === 'True') return healthy();
  return progressing(
    available?.reason ?? 'Pending',
    available?.message ?? `it is not available yet; ${lookAt(object)}`,
  );
};

const PRESSURES = ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'NetworkUnavailable'];

const Node: Assess = (object) => {
  const ready = conditionOf(object, 'Ready');
  if (ready?.status !== 'True') {
    const message = ready?.message ?? 'it has not reported yet';
    return ready?.status === 'False'
      ? degraded(ready.reason, message)
      : progressing(ready?.reason ?? 'NotReady', message);
  }
  for (const type of PRESSURES) {
    const pressure = conditionOf(object, type);
    if (pressure?.status === 'True') return degraded(pressure.reason || type, pressure.message);
  }
  return healthy();
};

export const CLUSTER_RULES: Readonly<Record<string, Assess>> = {
  '/PersistentVolumeClaim': PersistentVolumeClaim,
  '/PersistentVolume': PersistentVolume,
  '/Service': Service,
  '/Namespace': Namespace,
  '/Node': Node,
  'networking.k8s.io/Ingress': Ingress,
  'apiextensions.k8s.io/CustomResourceDefinition': CustomResourceDefinition,
  'apiregistration.k8s.io/APIService': APIService,
};
