import { isObject, type JsonObject } from '../../schema/json.ts';

/**
 * The types in which Kubernetes holds objects inside, as far as messages show them: structures in the syntax of Go. Facts only:
 * names, order and types of the fields of release 1.32, by reflection.
 *
 * A line is the name of a structure and its fields; lines that begin with a space go on. A third word is the name in JSON where
 * it is not the first in lower case, or `inline` for what has its fields in those of the parent. Names that are not here, such
 * as `core.ProcMountType`, are texts.
 */
const STRUCTURES = `
apps.DaemonSetUpdateStrategy: Type string, RollingUpdate *apps.RollingUpdateDaemonSet
apps.DeploymentStrategy: Type string, RollingUpdate *apps.RollingUpdateDeployment
apps.RollingUpdateStatefulSetStrategy: Partition int, MaxUnavailable *intstr.IntOrString
apps.StatefulSetUpdateStrategy: Type string, RollingUpdate *apps.RollingUpdateStatefulSetStrategy
batch.PodFailurePolicy: Rules []batch.PodFailurePolicyRule
batch.PodFailurePolicyOnExitCodesRequirement: ContainerName *string, Operator string, Values []int32
batch.PodFailurePolicyOnPodConditionsPattern: Type string, Status string
batch.PodFailurePolicyRule: Action string, OnExitCodes *batch.PodFailurePolicyOnExitCodesRequirement,
  OnPodConditions []batch.PodFailurePolicyOnPodConditionsPattern
batch.UncountedTerminatedPods: Succeeded []types.UID, Failed []types.UID
batch.SuccessPolicy: Rules []batch.SuccessPolicyRule
batch.SuccessPolicyRule: SucceededIndexes *string, SucceededCount *int32
core.AWSElasticBlockStoreVolumeSource: VolumeID string, FSType string, Partition int, ReadOnly bool
core.Affinity: NodeAffinity *core.NodeAffinity, PodAffinity *core.PodAffinity, PodAntiAffinity *core.PodAntiAffinity
core.AppArmorProfile: Type string, LocalhostProfile *string
core.AzureDiskVolumeSource: DiskName string, DataDiskURI string diskURI, CachingMode *core.AzureDataDiskCachingMode,
  FSType *string, ReadOnly *bool, Kind *core.AzureDataDiskKind
core.AzureFilePersistentVolumeSource: SecretName string, ShareName string, ReadOnly bool, SecretNamespace *string
core.AzureFileVolumeSource: SecretName string, ShareName string, ReadOnly bool
core.CSIPersistentVolumeSource: Driver string, VolumeHandle string, ReadOnly bool, FSType string,
  VolumeAttributes map[string]string, ControllerPublishSecretRef *core.SecretReference,
  NodeStageSecretRef *core.SecretReference, NodePublishSecretRef *core.SecretReference,
  ControllerExpandSecretRef *core.SecretReference, NodeExpandSecretRef *core.SecretReference
core.CSIVolumeSource: Driver string, ReadOnly *bool, FSType *string, VolumeAttributes map[string]string,
  NodePublishSecretRef *core.LocalObjectReference
core.Capabilities: Add []core.Capability, Drop []core.Capability
core.CephFSPersistentVolumeSource: Monitors []string, Path string, User string, SecretFile string,
  SecretRef *core.SecretReference, ReadOnly bool
core.CephFSVolumeSource: Monitors []string, Path string, User string, SecretFile string,
  SecretRef *core.LocalObjectReference, ReadOnly bool
core.CinderPersistentVolumeSource: VolumeID string, FSType string, ReadOnly bool, SecretRef *core.SecretReference
core.CinderVolumeSource: VolumeID string, FSType string, ReadOnly bool, SecretRef *core.LocalObjectReference
core.ClusterTrustBundleProjection: Name *string, SignerName *string, LabelSelector *v1.LabelSelector, Optional *bool,
  Path string
core.ConfigMapEnvSource: LocalObjectReference core.LocalObjectReference inline, Optional *bool
core.ConfigMapKeySelector: LocalObjectReference core.LocalObjectReference inline, Key string, Optional *bool
core.ConfigMapProjection: LocalObjectReference core.LocalObjectReference inline, Items []core.KeyToPath,
  Optional *bool
core.ConfigMapVolumeSource: LocalObjectReference core.LocalObjectReference inline, Items []core.KeyToPath,
  DefaultMode *int32, Optional *bool
core.Container: Name string, Image string, Command []string, Args []string, WorkingDir string,
  Ports []core.ContainerPort, EnvFrom []core.EnvFromSource, Env []core.EnvVar, Resources core.ResourceRequirements,
  ResizePolicy []core.ContainerResizePolicy, RestartPolicy *core.ContainerRestartPolicy,
  VolumeMounts []core.VolumeMount, VolumeDevices []core.VolumeDevice, LivenessProbe *core.Probe,
  ReadinessProbe *core.Probe, StartupProbe *core.Probe, Lifecycle *core.Lifecycle, TerminationMessagePath string,
  TerminationMessagePolicy string, ImagePullPolicy string, SecurityContext *core.SecurityContext, Stdin bool,
  StdinOnce bool, TTY bool
core.ContainerPort: Name string, HostPort int, ContainerPort int, Protocol string, HostIP string
core.ContainerResizePolicy: ResourceName string, RestartPolicy string
core.DownwardAPIProjection: Items []core.DownwardAPIVolumeFile
core.DownwardAPIVolumeFile: Path string, FieldRef *core.ObjectFieldSelector,
  ResourceFieldRef *core.ResourceFieldSelector, Mode *int32
core.DownwardAPIVolumeSource: Items []core.DownwardAPIVolumeFile, DefaultMode *int32
core.EmptyDirVolumeSource: Medium string, SizeLimit *resource.Quantity
core.EnvFromSource: Prefix string, ConfigMapRef *core.ConfigMapEnvSource, SecretRef *core.SecretEnvSource
core.EnvVar: Name string, Value string, ValueFrom *core.EnvVarSource
core.EnvVarSource: FieldRef *core.ObjectFieldSelector, ResourceFieldRef *core.ResourceFieldSelector,
  ConfigMapKeyRef *core.ConfigMapKeySelector, SecretKeyRef *core.SecretKeySelector
core.EphemeralContainer: EphemeralContainerCommon core.EphemeralContainerCommon inline, TargetContainerName string
core.EphemeralContainerCommon: Name string, Image string, Command []string, Args []string, WorkingDir string,
  Ports []core.ContainerPort, EnvFrom []core.EnvFromSource, Env []core.EnvVar, Resources core.ResourceRequirements,
  ResizePolicy []core.ContainerResizePolicy, RestartPolicy *core.ContainerRestartPolicy,
  VolumeMounts []core.VolumeMount, VolumeDevices []core.VolumeDevice, LivenessProbe *core.Probe,
  ReadinessProbe *core.Probe, StartupProbe *core.Probe, Lifecycle *core.Lifecycle, TerminationMessagePath string,
  TerminationMessagePolicy string, ImagePullPolicy string, SecurityContext *core.SecurityContext, Stdin bool,
  StdinOnce bool, TTY bool
core.EphemeralVolumeSource: VolumeClaimTemplate *core.PersistentVolumeClaimTemplate
core.ExecAction: Command []string
core.FCVolumeSource: TargetWWNs []string, Lun *int32, FSType string, ReadOnly bool, WWIDs []string wwids
core.FlexPersistentVolumeSource: Driver string, FSType string, SecretRef *core.SecretReference, ReadOnly bool,
  Options map[string]string
core.FlexVolumeSource: Driver string, FSType string, SecretRef *core.LocalObjectReference, ReadOnly bool,
  Options map[string]string
core.FlockerVolumeSource: DatasetName string, DatasetUUID string
core.GCEPersistentDiskVolumeSource: PDName string, FSType string, Partition int, ReadOnly bool
core.GRPCAction: Port int, Service *string
core.GitRepoVolumeSource: Repository string, Revision string, Directory string
core.GlusterfsPersistentVolumeSource: EndpointsName string endpoints, Path string, ReadOnly bool,
  EndpointsNamespace *string
core.GlusterfsVolumeSource: EndpointsName string endpoints, Path string, ReadOnly bool
core.HTTPGetAction: Path string, Port intstr.IntOrString, Host string, Scheme string, HTTPHeaders []core.HTTPHeader
core.HTTPHeader: Name string, Value string
core.HostAlias: IP string, Hostnames []string
core.HostIP: IP string
core.HostPathVolumeSource: Path string, Type *core.HostPathType
core.ISCSIPersistentVolumeSource: TargetPortal string, IQN string, Lun int, ISCSIInterface string, FSType string,
  ReadOnly bool, Portals []string, DiscoveryCHAPAuth bool chapAuthDiscovery, SessionCHAPAuth bool chapAuthSession,
  SecretRef *core.SecretReference, InitiatorName *string
core.ISCSIVolumeSource: TargetPortal string, IQN string, Lun int, ISCSIInterface string, FSType string, ReadOnly bool,
  Portals []string, DiscoveryCHAPAuth bool chapAuthDiscovery, SessionCHAPAuth bool chapAuthSession,
  SecretRef *core.LocalObjectReference, InitiatorName *string
core.ImageVolumeSource: Reference string, PullPolicy string
core.KeyToPath: Key string, Path string, Mode *int32
core.Lifecycle: PostStart *core.LifecycleHandler, PreStop *core.LifecycleHandler
core.LifecycleHandler: Exec *core.ExecAction, HTTPGet *core.HTTPGetAction, TCPSocket *core.TCPSocketAction,
  Sleep *core.SleepAction
core.LocalObjectReference: Name string
core.LocalVolumeSource: Path string, FSType *string
core.NFSVolumeSource: Server string, Path string, ReadOnly bool
core.NodeAddress: Type string, Address string
core.NodeAffinity: RequiredDuringSchedulingIgnoredDuringExecution *core.NodeSelector,
  PreferredDuringSchedulingIgnoredDuringExecution []core.PreferredSchedulingTerm
core.NodeSelector: NodeSelectorTerms []core.NodeSelectorTerm
core.NodeSelectorRequirement: Key string, Operator string, Values []string
core.NodeSelectorTerm: MatchExpressions []core.NodeSelectorRequirement, MatchFields []core.NodeSelectorRequirement
core.ObjectFieldSelector: APIVersion string, FieldPath string
core.ObjectReference: Kind string, Namespace string, Name string, UID string, APIVersion string,
  ResourceVersion string, FieldPath string
core.PersistentVolumeClaimSpec: AccessModes []core.PersistentVolumeAccessMode, Selector *v1.LabelSelector,
  Resources core.VolumeResourceRequirements, VolumeName string, StorageClassName *string,
  VolumeMode *core.PersistentVolumeMode, DataSource *core.TypedLocalObjectReference,
  DataSourceRef *core.TypedObjectReference, VolumeAttributesClassName *string
core.PersistentVolumeClaimTemplate: ObjectMeta v1.ObjectMeta metadata, Spec core.PersistentVolumeClaimSpec
core.PersistentVolumeClaimVolumeSource: ClaimName string, ReadOnly bool
core.PersistentVolumeSource: GCEPersistentDisk *core.GCEPersistentDiskVolumeSource,
  AWSElasticBlockStore *core.AWSElasticBlockStoreVolumeSource, HostPath *core.HostPathVolumeSource,
  Glusterfs *core.GlusterfsPersistentVolumeSource, NFS *core.NFSVolumeSource, RBD *core.RBDPersistentVolumeSource,
  Quobyte *core.QuobyteVolumeSource, ISCSI *core.ISCSIPersistentVolumeSource,
  FlexVolume *core.FlexPersistentVolumeSource, Cinder *core.CinderPersistentVolumeSource,
  CephFS *core.CephFSPersistentVolumeSource cephfs, FC *core.FCVolumeSource, Flocker *core.FlockerVolumeSource,
  AzureFile *core.AzureFilePersistentVolumeSource, VsphereVolume *core.VsphereVirtualDiskVolumeSource,
  AzureDisk *core.AzureDiskVolumeSource, PhotonPersistentDisk *core.PhotonPersistentDiskVolumeSource,
  PortworxVolume *core.PortworxVolumeSource, ScaleIO *core.ScaleIOPersistentVolumeSource,
  Local *core.LocalVolumeSource, StorageOS *core.StorageOSPersistentVolumeSource storageos,
  CSI *core.CSIPersistentVolumeSource
core.PhotonPersistentDiskVolumeSource: PdID string, FSType string
core.PodAffinity: RequiredDuringSchedulingIgnoredDuringExecution []core.PodAffinityTerm,
  PreferredDuringSchedulingIgnoredDuringExecution []core.WeightedPodAffinityTerm
core.PodAffinityTerm: LabelSelector *v1.LabelSelector, Namespaces []string, TopologyKey string,
  NamespaceSelector *v1.LabelSelector, MatchLabelKeys []string, MismatchLabelKeys []string
core.PodAntiAffinity: RequiredDuringSchedulingIgnoredDuringExecution []core.PodAffinityTerm,
  PreferredDuringSchedulingIgnoredDuringExecution []core.WeightedPodAffinityTerm
core.PodDNSConfig: Nameservers []string, Searches []string, Options []core.PodDNSConfigOption
core.PodDNSConfigOption: Name string, Value *string
core.PodIP: IP string
core.PodOS: Name string
core.PodReadinessGate: ConditionType string
core.PodResourceClaim: Name string, ResourceClaimName *string, ResourceClaimTemplateName *string
core.PodSchedulingGate: Name string
core.PodSecurityContext: HostNetwork bool, HostPID bool, HostIPC bool, ShareProcessNamespace *bool, HostUsers *bool,
  SELinuxOptions *core.SELinuxOptions, WindowsOptions *core.WindowsSecurityContextOptions, RunAsUser *int64,
  RunAsGroup *int64, RunAsNonRoot *bool, SupplementalGroups []int64,
  SupplementalGroupsPolicy *core.SupplementalGroupsPolicy, FSGroup *int64,
  FSGroupChangePolicy *core.PodFSGroupChangePolicy, Sysctls []core.Sysctl, SeccompProfile *core.SeccompProfile,
  AppArmorProfile *core.AppArmorProfile, SELinuxChangePolicy *core.PodSELinuxChangePolicy
core.PodSpec: Volumes []core.Volume, InitContainers []core.Container, Containers []core.Container,
  EphemeralContainers []core.EphemeralContainer, RestartPolicy string, TerminationGracePeriodSeconds *int64,
  ActiveDeadlineSeconds *int64, DNSPolicy string, NodeSelector map[string]string, ServiceAccountName string,
  AutomountServiceAccountToken *bool, NodeName string, SecurityContext *core.PodSecurityContext,
  ImagePullSecrets []core.LocalObjectReference, Hostname string, Subdomain string, SetHostnameAsFQDN *bool,
  Affinity *core.Affinity, SchedulerName string, Tolerations []core.Toleration, HostAliases []core.HostAlias,
  PriorityClassName string, Priority *int32, PreemptionPolicy *core.PreemptionPolicy, DNSConfig *core.PodDNSConfig,
  ReadinessGates []core.PodReadinessGate, RuntimeClassName *string, Overhead core.ResourceList,
  EnableServiceLinks *bool, TopologySpreadConstraints []core.TopologySpreadConstraint, OS *core.PodOS,
  SchedulingGates []core.PodSchedulingGate, ResourceClaims []core.PodResourceClaim,
  Resources *core.ResourceRequirements
core.PodTemplateSpec: ObjectMeta v1.ObjectMeta metadata, Spec core.PodSpec
core.PortworxVolumeSource: VolumeID string, FSType string, ReadOnly bool
core.PreferredSchedulingTerm: Weight int, Preference core.NodeSelectorTerm
core.Probe: ProbeHandler core.ProbeHandler inline, InitialDelaySeconds int, TimeoutSeconds int, PeriodSeconds int,
  SuccessThreshold int, FailureThreshold int, TerminationGracePeriodSeconds *int64
core.ProbeHandler: Exec *core.ExecAction, HTTPGet *core.HTTPGetAction, TCPSocket *core.TCPSocketAction,
  GRPC *core.GRPCAction
core.ProjectedVolumeSource: Sources []core.VolumeProjection, DefaultMode *int32
core.QuobyteVolumeSource: Registry string, Volume string, ReadOnly bool, User string, Group string, Tenant string
core.RBDPersistentVolumeSource: CephMonitors []string monitors, RBDImage string image, FSType string,
  RBDPool string pool, RadosUser string user, Keyring string, SecretRef *core.SecretReference, ReadOnly bool
core.RBDVolumeSource: CephMonitors []string monitors, RBDImage string image, FSType string, RBDPool string pool,
  RadosUser string user, Keyring string, SecretRef *core.LocalObjectReference, ReadOnly bool
core.ResourceClaim: Name string, Request string
core.ResourceFieldSelector: ContainerName string, Resource string, Divisor resource.Quantity
core.ResourceRequirements: Limits core.ResourceList, Requests core.ResourceList, Claims []core.ResourceClaim
core.SELinuxOptions: User string, Role string, Type string, Level string
core.ScaleIOPersistentVolumeSource: Gateway string, System string, SecretRef *core.SecretReference, SSLEnabled bool,
  ProtectionDomain string, StoragePool string, StorageMode string, VolumeName string, FSType string, ReadOnly bool
core.ScaleIOVolumeSource: Gateway string, System string, SecretRef *core.LocalObjectReference, SSLEnabled bool,
  ProtectionDomain string, StoragePool string, StorageMode string, VolumeName string, FSType string, ReadOnly bool
core.ScopeSelector: MatchExpressions []core.ScopedResourceSelectorRequirement
core.ScopedResourceSelectorRequirement: ScopeName string, Operator string, Values []string
core.SeccompProfile: Type string, LocalhostProfile *string
core.SecretEnvSource: LocalObjectReference core.LocalObjectReference inline, Optional *bool
core.SecretKeySelector: LocalObjectReference core.LocalObjectReference inline, Key string, Optional *bool
core.SecretProjection: LocalObjectReference core.LocalObjectReference inline, Items []core.KeyToPath, Optional *bool
core.SecretReference: Name string, Namespace string
core.SecretVolumeSource: SecretName string, Items []core.KeyToPath, DefaultMode *int32, Optional *bool
core.SecurityContext: Capabilities *core.Capabilities, Privileged *bool, SELinuxOptions *core.SELinuxOptions,
  WindowsOptions *core.WindowsSecurityContextOptions, RunAsUser *int64, RunAsGroup *int64, RunAsNonRoot *bool,
  ReadOnlyRootFilesystem *bool, AllowPrivilegeEscalation *bool, ProcMount *core.ProcMountType,
  SeccompProfile *core.SeccompProfile, AppArmorProfile *core.AppArmorProfile
core.ServiceAccountTokenProjection: Audience string, ExpirationSeconds int, Path string
core.SleepAction: Seconds int
core.StorageOSPersistentVolumeSource: VolumeName string, VolumeNamespace string, FSType string, ReadOnly bool,
  SecretRef *core.ObjectReference
core.StorageOSVolumeSource: VolumeName string, VolumeNamespace string, FSType string, ReadOnly bool,
  SecretRef *core.LocalObjectReference
core.Sysctl: Name string, Value string
core.TCPSocketAction: Port intstr.IntOrString, Host string
core.Taint: Key string, Value string, Effect string, TimeAdded *time
core.Toleration: Key string, Operator string, Value string, Effect string, TolerationSeconds *int64
core.TopologySpreadConstraint: MaxSkew int, TopologyKey string, WhenUnsatisfiable string,
  LabelSelector *v1.LabelSelector, MinDomains *int32, NodeAffinityPolicy *core.NodeInclusionPolicy,
  NodeTaintsPolicy *core.NodeInclusionPolicy, MatchLabelKeys []string
core.TypedLocalObjectReference: APIGroup *string, Kind string, Name string
core.TypedObjectReference: APIGroup *string, Kind string, Name string, Namespace *string
core.Volume: Name string, VolumeSource core.VolumeSource inline
core.VolumeDevice: Name string, DevicePath string
core.VolumeMount: Name string, ReadOnly bool, RecursiveReadOnly *core.RecursiveReadOnlyMode, MountPath string,
  SubPath string, MountPropagation *core.MountPropagationMode, SubPathExpr string
core.VolumeProjection: Secret *core.SecretProjection, DownwardAPI *core.DownwardAPIProjection,
  ConfigMap *core.ConfigMapProjection, ServiceAccountToken *core.ServiceAccountTokenProjection,
  ClusterTrustBundle *core.ClusterTrustBundleProjection
core.VolumeResourceRequirements: Limits core.ResourceList, Requests core.ResourceList
core.VolumeSource: HostPath *core.HostPathVolumeSource, EmptyDir *core.EmptyDirVolumeSource,
  GCEPersistentDisk *core.GCEPersistentDiskVolumeSource, AWSElasticBlockStore *core.AWSElasticBlockStoreVolumeSource,
  GitRepo *core.GitRepoVolumeSource, Secret *core.SecretVolumeSource, NFS *core.NFSVolumeSource,
  ISCSI *core.ISCSIVolumeSource, Glusterfs *core.GlusterfsVolumeSource,
  PersistentVolumeClaim *core.PersistentVolumeClaimVolumeSource, RBD *core.RBDVolumeSource,
  Quobyte *core.QuobyteVolumeSource, FlexVolume *core.FlexVolumeSource, Cinder *core.CinderVolumeSource,
  CephFS *core.CephFSVolumeSource cephfs, Flocker *core.FlockerVolumeSource,
  DownwardAPI *core.DownwardAPIVolumeSource, FC *core.FCVolumeSource, AzureFile *core.AzureFileVolumeSource,
  ConfigMap *core.ConfigMapVolumeSource, VsphereVolume *core.VsphereVirtualDiskVolumeSource,
  AzureDisk *core.AzureDiskVolumeSource, PhotonPersistentDisk *core.PhotonPersistentDiskVolumeSource,
  Projected *core.ProjectedVolumeSource, PortworxVolume *core.PortworxVolumeSource, ScaleIO *core.ScaleIOVolumeSource,
  StorageOS *core.StorageOSVolumeSource storageos, CSI *core.CSIVolumeSource, Ephemeral *core.EphemeralVolumeSource,
  Image *core.ImageVolumeSource
core.VsphereVirtualDiskVolumeSource: VolumePath string, FSType string, StoragePolicyName string,
  StoragePolicyID string
core.WeightedPodAffinityTerm: Weight int, PodAffinityTerm core.PodAffinityTerm
core.WindowsSecurityContextOptions: GMSACredentialSpecName *string, GMSACredentialSpec *string, RunAsUserName *string,
  HostProcess *bool
flowcontrol.FlowDistinguisherMethod: Type string
flowcontrol.FlowSchemaSpec: PriorityLevelConfiguration flowcontrol.PriorityLevelConfigurationReference,
  MatchingPrecedence int, DistinguisherMethod *flowcontrol.FlowDistinguisherMethod,
  Rules []flowcontrol.PolicyRulesWithSubjects
flowcontrol.GroupSubject: Name string
flowcontrol.NonResourcePolicyRule: Verbs []string, NonResourceURLs []string
flowcontrol.PolicyRulesWithSubjects: Subjects []flowcontrol.Subject, ResourceRules []flowcontrol.ResourcePolicyRule,
  NonResourceRules []flowcontrol.NonResourcePolicyRule
flowcontrol.PriorityLevelConfigurationReference: Name string
flowcontrol.PriorityLevelConfigurationSpec: Type string, Limited *flowcontrol.LimitedPriorityLevelConfiguration,
  Exempt *flowcontrol.ExemptPriorityLevelConfiguration
flowcontrol.ResourcePolicyRule: Verbs []string, APIGroups []string apiGroups, Resources []string, ClusterScope bool,
  Namespaces []string
flowcontrol.Subject: Kind string, User *flowcontrol.UserSubject, Group *flowcontrol.GroupSubject,
  ServiceAccount *flowcontrol.ServiceAccountSubject
intstr.IntOrString: Type int, IntVal int, StrVal string
policy.PodDisruptionBudgetSpec: MinAvailable *intstr.IntOrString, Selector *v1.LabelSelector,
  MaxUnavailable *intstr.IntOrString, UnhealthyPodEvictionPolicy *policy.UnhealthyPodEvictionPolicyType
storage.CSINodeDriver: Name string, NodeID string, TopologyKeys []string, Allocatable *storage.VolumeNodeResources
storage.VolumeAttachmentSource: PersistentVolumeName *string, InlineVolumeSpec *core.PersistentVolumeSpec
storage.VolumeAttachmentSpec: Attacher string, Source storage.VolumeAttachmentSource, NodeName string
v1.LabelSelector: MatchLabels map[string]string, MatchExpressions []v1.LabelSelectorRequirement
v1.LabelSelectorRequirement: Key string, Operator string, Values []string
v1.ObjectMeta: Name string, GenerateName string, Namespace string, SelfLink string, UID string,
  ResourceVersion string, Generation int, CreationTimestamp time, DeletionTimestamp *time,
  DeletionGracePeriodSeconds *int64, Labels map[string]string, Annotations map[string]string,
  OwnerReferences []v1.OwnerReference, Finalizers []string, ManagedFields []v1.ManagedFieldsEntry
v1.OwnerReference: APIVersion string, Kind string, Name string, UID string, Controller *bool,
  BlockOwnerDeletion *bool
`;

/** A field of a structure. */
export interface GoField {
  readonly name: string;
  /** `string`, `int`, `bool`, `*core.Probe`, `[]core.Container`, `map[string]string`, `core.ResourceList` … */
  readonly type: string;
  /** Undefined where the fields stand in the parent's object. */
  readonly json: string | undefined;
}

let known: Map<string, readonly GoField[]> | undefined;

/** The fields of a structure in their order; `undefined` for what is none. */
export function goFields(type: string): readonly GoField[] | undefined {
  known ??= new Map(
    STRUCTURES.trim()
      .replace(/\n +/g, ' ')
      .split('\n')
      .map((line) => {
        const colon = line.indexOf(':');
        return [
          line.slice(0, colon),
          line
            .slice(colon + 2)
            .split(', ')
            .map(fieldOf),
        ];
      }),
  );
  return known.get(type);
}

function fieldOf(text: string): GoField {
  const [name = '', type = '', json = jsonName(name)] = text.split(' ');
  return { name, type, json: json === 'inline' ? undefined : json };
}

/** `DNSPolicy` is `dnsPolicy` in JSON, `TTY` is `tty`. */
function jsonName(name: string): string {
  return name.replace(/^[A-Z]+(?![a-z])|^[A-Z]/, (start) => start.toLowerCase());
}

/** What a type is made of: `[]core.Container` and `*int` hold one other type, maps also have one of keys. */
export function goElement(
  type: string,
): { kind: 'pointer' | 'slice' | 'map'; element: string; key: string } | undefined {
  if (type.startsWith('*')) return { kind: 'pointer', element: type.slice(1), key: '' };
  if (type.startsWith('[]')) return { kind: 'slice', element: type.slice(2), key: '' };
  const map = /^map\[([^\]]+)\](.+)$/.exec(type === 'core.ResourceList' ? RESOURCE_LIST : type);
  return map ? { kind: 'map', element: map[2] ?? '', key: map[1] ?? '' } : undefined;
}

const RESOURCE_LIST = 'map[core.ResourceName]resource.Quantity';

/** The value of a structure as an object of its fields: numbers or texts are told apart by one of them. */
export function goObject(type: string, value: unknown): JsonObject {
  if (type === 'intstr.IntOrString')
    return typeof value === 'string'
      ? { type: 1, strVal: value }
      : { type: 0, intVal: (value ?? 0) as number };
  return isObject(value) ? value : {};
}
