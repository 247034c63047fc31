/**
 * Fields whose Go type has a name that no schema tells: `type: Struct.field …`. For a list or a map of such values the type of
 * the items stands here.
 */
const NAMES = `
types.UID: ObjectMeta.uid ObjectReference.uid
v1.AddressType: EndpointSlice.addressType
v1.AzureDataDiskCachingMode: AzureDiskVolumeSource.cachingMode
v1.AzureDataDiskKind: AzureDiskVolumeSource.kind
v1.Capability: Capabilities.add Capabilities.drop
v1.CompletionMode: JobSpec.completionMode
v1.ConcurrencyPolicy: CronJobSpec.concurrencyPolicy
v1.ConditionStatus: NodeCondition.status PodFailurePolicyOnPodConditionsPattern.status
v1.ContainerRestartPolicy: Container.restartPolicy
v1.ConversionStrategyType: CustomResourceConversion.strategy
v1.CoordinatedLeaseStrategy: LeaseSpec.strategy
v1.DNSPolicy: PodSpec.dnsPolicy
v1.DaemonSetUpdateStrategyType: DaemonSetUpdateStrategy.type
v1.DeploymentStrategyType: DeploymentStrategy.type
v1.ExtraValue: CertificateSigningRequestSpec.extra
v1.FSGroupPolicy: CSIDriverSpec.fsGroupPolicy
v1.FailurePolicyType: MutatingWebhook.failurePolicy ValidatingAdmissionPolicySpec.failurePolicy
  ValidatingWebhook.failurePolicy
v1.FinalizerName: NamespaceSpec.finalizers
v1.FlowDistinguisherMethodType: FlowDistinguisherMethod.type
v1.HostPathType: HostPathVolumeSource.type
v1.IPFamily: ServiceSpec.ipFamilies
v1.IPFamilyPolicy: ServiceSpec.ipFamilyPolicy
v1.JSONSchemaDefinitions: JSONSchemaProps.definitions
v1.JSONSchemaDependencies: JSONSchemaProps.dependencies
v1.JSONSchemaURL: JSONSchemaProps.$schema
v1.KeyUsage: CertificateSigningRequestSpec.usages
v1.LabelSelectorOperator: LabelSelectorRequirement.operator
v1.LimitResponseType: LimitResponse.type
v1.LimitType: LimitRangeItem.type
v1.MatchPolicyType: MatchResources.matchPolicy MutatingWebhook.matchPolicy ValidatingWebhook.matchPolicy
v1.MountPropagationMode: VolumeMount.mountPropagation
v1.NodeAddressType: NodeAddress.type
v1.NodeConditionType: NodeCondition.type
v1.NodeInclusionPolicy: TopologySpreadConstraint.nodeAffinityPolicy
  TopologySpreadConstraint.nodeTaintsPolicy
v1.NodePhase: NodeStatus.phase
v1.NodeSelectorOperator: NodeSelectorRequirement.operator
v1.OSName: PodOS.name
v1.OperationType: NamedRuleWithOperations.operations RuleWithOperations.operations
v1.ParameterNotFoundActionType: ParamRef.parameterNotFoundAction
v1.PathType: HTTPIngressPath.pathType
v1.PersistentVolumeAccessMode: PersistentVolumeClaimSpec.accessModes PersistentVolumeSpec.accessModes
v1.PersistentVolumeClaimRetentionPolicyType: StatefulSetPersistentVolumeClaimRetentionPolicy.whenDeleted
  StatefulSetPersistentVolumeClaimRetentionPolicy.whenScaled
v1.PersistentVolumeMode: PersistentVolumeClaimSpec.volumeMode PersistentVolumeSpec.volumeMode
v1.PersistentVolumeReclaimPolicy: PersistentVolumeSpec.persistentVolumeReclaimPolicy
  StorageClass.reclaimPolicy
v1.PodConditionType: PodFailurePolicyOnPodConditionsPattern.type PodReadinessGate.conditionType
v1.PodFSGroupChangePolicy: PodSecurityContext.fsGroupChangePolicy
v1.PodFailurePolicyAction: PodFailurePolicyRule.action
v1.PodFailurePolicyOnExitCodesOperator: PodFailurePolicyOnExitCodesRequirement.operator
v1.PodManagementPolicyType: StatefulSetSpec.podManagementPolicy
v1.PodReplacementPolicy: JobSpec.podReplacementPolicy
v1.PodSELinuxChangePolicy: PodSecurityContext.seLinuxChangePolicy
v1.PolicyType: NetworkPolicySpec.policyTypes
v1.PreemptionPolicy: PodSpec.preemptionPolicy PriorityClass.preemptionPolicy
v1.PriorityLevelEnablement: PriorityLevelConfigurationSpec.type
v1.ProcMountType: SecurityContext.procMount
v1.Protocol: ContainerPort.protocol EndpointPort.protocol NetworkPolicyPort.protocol ServicePort.protocol
v1.PullPolicy: Container.imagePullPolicy
v1.RecursiveReadOnlyMode: VolumeMount.recursiveReadOnly
v1.ReinvocationPolicyType: MutatingWebhook.reinvocationPolicy
v1.ResourceList: LimitRangeItem.default LimitRangeItem.defaultRequest LimitRangeItem.max
  LimitRangeItem.maxLimitRequestRatio LimitRangeItem.min NodeStatus.allocatable NodeStatus.capacity
  Overhead.podFixed PersistentVolumeSpec.capacity PodSpec.overhead ResourceQuotaSpec.hard
  ResourceRequirements.limits ResourceRequirements.requests VolumeResourceRequirements.limits
  VolumeResourceRequirements.requests
v1.ResourceName: ContainerResourceMetricSource.name ResourceMetricSource.name
v1.ResourceQuotaScope: ResourceQuotaSpec.scopes ScopedResourceSelectorRequirement.scopeName
v1.ResourceScope: CustomResourceDefinitionSpec.scope
v1.RestartPolicy: PodSpec.restartPolicy
v1.ScopeSelectorOperator: ScopedResourceSelectorRequirement.operator
v1.ScopeType: NamedRuleWithOperations.scope RuleWithOperations.scope
v1.SeccompProfileType: SeccompProfile.type
v1.SecretType: Secret.type
v1.ServiceAffinity: ServiceSpec.sessionAffinity
v1.ServiceExternalTrafficPolicy: ServiceSpec.externalTrafficPolicy
v1.ServiceInternalTrafficPolicy: ServiceSpec.internalTrafficPolicy
v1.ServiceType: ServiceSpec.type
v1.SideEffectClass: MutatingWebhook.sideEffects ValidatingWebhook.sideEffects
v1.StatefulSetUpdateStrategyType: StatefulSetUpdateStrategy.type
v1.StatusReason: Validation.reason
v1.StorageMedium: EmptyDirVolumeSource.medium
v1.SubjectKind: Subject.kind
v1.SupplementalGroupsPolicy: PodSecurityContext.supplementalGroupsPolicy
v1.TaintEffect: Taint.effect Toleration.effect
v1.TerminationMessagePolicy: Container.terminationMessagePolicy
v1.TolerationOperator: Toleration.operator
v1.URIScheme: HTTPGetAction.scheme
v1.UnhealthyPodEvictionPolicyType: PodDisruptionBudgetSpec.unhealthyPodEvictionPolicy
v1.UniqueVolumeName: NodeStatus.volumesInUse
v1.UnsatisfiableConstraintAction: TopologySpreadConstraint.whenUnsatisfiable
v1.ValidationAction: ValidatingAdmissionPolicyBindingSpec.validationActions
v1.VolumeBindingMode: StorageClass.volumeBindingMode
v1.VolumeLifecycleMode: CSIDriverSpec.volumeLifecycleModes
v2.HPAScalingPolicyType: HPAScalingPolicy.type
v2.MetricSourceType: MetricSpec.type
v2.MetricTargetType: MetricTarget.type
v2.ScalingPolicySelect: HPAScalingRules.selectPolicy
`;

let known: Map<string, string> | undefined;

/** The name of the type of a field, or of its items: `v1.Protocol` for `ServicePort.protocol`. */
export function goTypeName(struct: string, field: string): string | undefined {
  known ??= new Map(
    NAMES.trim()
      .replace(/\n +/g, ' ')
      .split('\n')
      .flatMap((line) => {
        const [type = '', fields = ''] = line.split(': ');
        return fields.split(' ').map((name): [string, string] => [name, type]);
      }),
  );
  return known.get(`${struct}.${field}`);
}
