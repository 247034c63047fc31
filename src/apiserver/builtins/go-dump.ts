import { goQuote } from '../../kube/status-error.ts';
import { isObject } from '../../schema/json.ts';
import { parseQuantity } from '../../schema/quantity.ts';

/**
 * Values of built-in types as messages of Kubernetes show them: structures in the syntax of Go, with the fields of its internal
 * types. People search for such texts and tests compare them. What a pointer points at is not shown, only that there is
 * something; its address differs from server to server anyway.
 */
const ADDRESS = '0xc000000000';

/** Fields of structures, in their order, each with its type. */
const STRUCTS: Readonly<Record<string, string>> = {
  'apps.DaemonSetUpdateStrategy': 'Type string, RollingUpdate *apps.RollingUpdateDaemonSet',
  'apps.DeploymentStrategy': 'Type string, RollingUpdate *apps.RollingUpdateDeployment',
  'core.Container':
    'Name string, Image string, Command []string, Args []string, WorkingDir string, Ports []core.ContainerPort, ' +
    'EnvFrom []core.EnvFromSource, Env []core.EnvVar, Resources core.ResourceRequirements, ' +
    'ResizePolicy []core.ContainerResizePolicy, RestartPolicy *core.ContainerRestartPolicy, ' +
    'VolumeMounts []core.VolumeMount, VolumeDevices []core.VolumeDevice, LivenessProbe *core.Probe, ' +
    'ReadinessProbe *core.Probe, StartupProbe *core.Probe, Lifecycle *core.Lifecycle, TerminationMessagePath string, ' +
    'TerminationMessagePolicy string, ImagePullPolicy string, SecurityContext *core.SecurityContext, Stdin bool, ' +
    'StdinOnce bool, TTY bool',
  'core.ContainerPort': 'Name string, HostPort int, ContainerPort int, Protocol string, HostIP string',
  'core.EnvVar': 'Name string, Value string, ValueFrom *core.EnvVarSource',
  'core.LocalObjectReference': 'Name string',
  'core.PodSpec':
    'Volumes []core.Volume, InitContainers []core.Container, Containers []core.Container, ' +
    'EphemeralContainers []core.EphemeralContainer, RestartPolicy string, TerminationGracePeriodSeconds *int64, ' +
    'ActiveDeadlineSeconds *int64, DNSPolicy string, NodeSelector map[string]string, ServiceAccountName string, ' +
    'AutomountServiceAccountToken *bool, NodeName string, SecurityContext *core.PodSecurityContext, ' +
    'ImagePullSecrets []core.LocalObjectReference, Hostname string, Subdomain string, SetHostnameAsFQDN *bool, ' +
    'Affinity *core.Affinity, SchedulerName string, Tolerations []core.Toleration, HostAliases []core.HostAlias, ' +
    'PriorityClassName string, Priority *int32, PreemptionPolicy *core.PreemptionPolicy, DNSConfig *core.PodDNSConfig, ' +
    'ReadinessGates []core.PodReadinessGate, RuntimeClassName *string, Overhead core.ResourceList, ' +
    'EnableServiceLinks *bool, TopologySpreadConstraints []core.TopologySpreadConstraint, OS *core.PodOS, ' +
    'SchedulingGates []core.PodSchedulingGate, ResourceClaims []core.PodResourceClaim, Resources *core.ResourceRequirements',
  'core.PodTemplateSpec': 'Metadata v1.ObjectMeta, Spec core.PodSpec',
  'core.ResourceRequirements':
    'Limits core.ResourceList, Requests core.ResourceList, Claims []core.ResourceClaim',
  'core.SecurityContext':
    'Capabilities *core.Capabilities, Privileged *bool, SELinuxOptions *core.SELinuxOptions, ' +
    'WindowsOptions *core.WindowsSecurityContextOptions, RunAsUser *int64, RunAsGroup *int64, RunAsNonRoot *bool, ' +
    'ReadOnlyRootFilesystem *bool, AllowPrivilegeEscalation *bool, ProcMount *core.ProcMountType, ' +
    'SeccompProfile *core.SeccompProfile, AppArmorProfile *core.AppArmorProfile',
  'flowcontrol.FlowDistinguisherMethod': 'Type string',
  'policy.PodDisruptionBudgetSpec':
    'MinAvailable *intstr.IntOrString, Selector *v1.LabelSelector, MaxUnavailable *intstr.IntOrString, ' +
    'UnhealthyPodEvictionPolicy *policy.UnhealthyPodEvictionPolicyType',
  'v1.ObjectMeta':
    'Name string, GenerateName string, Namespace string, SelfLink string, UID string, ResourceVersion string, ' +
    'Generation int, CreationTimestamp time, DeletionTimestamp *time, DeletionGracePeriodSeconds *int64, ' +
    'Labels map[string]string, Annotations map[string]string, OwnerReferences []v1.OwnerReference, Finalizers []string, ' +
    'ManagedFields []v1.ManagedFieldsEntry',
  'v1.OwnerReference':
    'APIVersion string, Kind string, Name string, UID string, Controller *bool, BlockOwnerDeletion *bool',
};

/** The field of a structure that is another structure without a name of its own. */
const EMBEDDED: Readonly<Record<string, string>> = { Metadata: 'ObjectMeta' };

/** `value`, a piece of an object, as a value of the type: `apps.DeploymentStrategy`, `[]v1.OwnerReference`, `*bool`. */
export function goDump(type: string, value: unknown): string {
  const absent = value === undefined || value === null;
  switch (type) {
    case 'string':
      return goQuote(typeof value === 'string' ? value : '');
    case 'int':
      return String(value ?? 0);
    case 'bool':
      return String(value === true);
    case 'time':
      return 'time.Date(1, time.January, 1, 0, 0, 0, 0, time.UTC)';
    case '*time':
      return '<nil>';
    case 'core.ResourceList':
      return map(type, value, (item) => quantityDump(item));
    case 'map[string]string':
      return map(type, value, (item) => goDump('string', item));
    default:
  }
  if (type.startsWith('*')) return `(${type})(${absent ? 'nil' : ADDRESS})`;
  if (type.startsWith('[]')) {
    const items: unknown[] = Array.isArray(value) ? value : [];
    if (items.length === 0) return `${type}(nil)`;
    return `${type}{${items.map((item) => goDump(type.slice(2), item)).join(', ')}}`;
  }
  const fields = STRUCTS[type];
  // A structure that messages have not shown so far.
  if (fields === undefined) return `${type}{...}`;
  const texts = fields.split(', ').map((field) => {
    const [name = '', fieldType = ''] = field.split(' ');
    return `${EMBEDDED[name] ?? name}:${goDump(fieldType, isObject(value) ? value[jsonName(name)] : undefined)}`;
  });
  return `${type}{${texts.join(', ')}}`;
}

function map(type: string, value: unknown, dump: (item: unknown) => string): string {
  if (!isObject(value)) return `${type}(nil)`;
  const texts = Object.keys(value)
    .sort()
    .map((key) => `${goQuote(key)}:${dump(value[key])}`);
  return `${type}{${texts.join(', ')}}`;
}

/** `DNSPolicy` is `dnsPolicy` in JSON, `TTY` is `tty`. */
function jsonName(name: string): string {
  return name.replace(/^[A-Z]+(?![a-z])|^[A-Z]/, (start) => start.toLowerCase());
}

const NANO_DIGITS = 9;

/** `written` is the text that the quantity keeps once somebody has asked for it. */
export function quantityDump(value: unknown, written: string = ''): string {
  const quantity = parseQuantity(value);
  if (quantity === undefined) return 'resource.Quantity{}';
  let { nanos } = quantity;
  let scale = -NANO_DIGITS;
  while (nanos !== 0n && scale < 0 && nanos % 10n === 0n) {
    nanos /= 10n;
    scale += 1;
  }
  if (nanos === 0n) scale = 0;
  return `resource.Quantity{i:resource.int64Amount{value:${nanos}, scale:${scale}}, d:resource.infDecAmount{Dec:(*inf.Dec)(nil)}, s:${goQuote(written)}, Format:"${quantity.format}"}`;
}
