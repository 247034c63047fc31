/**
 * Where the description of a printer column comes from, by `group/resource` and name of the column: the field that it shows,
 * as `<group>.<version>.<Type>.<field>` below `io.k8s.api`, or words of our own (anything with a space) where a column shows
 * more than a field. What no table has is described as in every kind ({@link ANY_KIND}), or not at all.
 */
export type ColumnSources = Readonly<Record<string, string>>;

/** Columns that kinds share. */
export const ANY_KIND: ColumnSources = {
  Name: 'meta.v1.ObjectMeta.name',
  Age: 'meta.v1.ObjectMeta.creationTimestamp',
  'Created At': 'meta.v1.ObjectMeta.creationTimestamp',
  Containers: 'What the containers of its pods are called.',
  Images: 'What the containers of its pods run.',
};

const EVENT: ColumnSources = {
  'Last Seen': 'core.v1.Event.lastTimestamp',
  Type: 'core.v1.Event.type',
  Reason: 'core.v1.Event.reason',
  Object: 'core.v1.Event.involvedObject',
  Subobject: 'core.v1.ObjectReference.fieldPath',
  Source: 'core.v1.Event.source',
  Message: 'core.v1.Event.message',
  'First Seen': 'core.v1.Event.firstTimestamp',
  Count: 'core.v1.Event.count',
};

const BINDING: ColumnSources = {
  Role: 'rbac.v1.RoleBinding.roleRef',
  Users: 'Which users are among its subjects.',
  Groups: 'Which groups are among its subjects.',
  ServiceAccounts: 'Which service accounts are among its subjects.',
};

const WEBHOOKS: ColumnSources = { Webhooks: 'How many webhooks it names.' };

const POLICY_BINDING: ColumnSources = {
  PolicyName: 'admissionregistration.v1.ValidatingAdmissionPolicyBindingSpec.policyName',
  ParamRef: 'admissionregistration.v1.ValidatingAdmissionPolicyBindingSpec.paramRef',
};

export const COLUMN_SOURCES: Readonly<Record<string, ColumnSources>> = {
  '/componentstatuses': {
    Status: 'Whether the component says that it works.',
    Message: 'core.v1.ComponentCondition.message',
    Error: 'core.v1.ComponentCondition.error',
  },
  '/configmaps': { Data: 'core.v1.ConfigMap.data' },
  '/endpoints': { Endpoints: 'core.v1.Endpoints.subsets' },
  '/events': EVENT,
  '/namespaces': { Status: 'core.v1.NamespaceStatus.phase' },
  '/nodes': {
    Status: 'Whether the node is ready, and whether it takes new pods.',
    Roles: 'What its labels say it is for.',
    Version: 'core.v1.NodeSystemInfo.kubeletVersion',
    'Internal-IP': 'core.v1.NodeStatus.addresses',
    'External-IP': 'core.v1.NodeStatus.addresses',
    'OS-Image': 'core.v1.NodeSystemInfo.osImage',
    'Kernel-Version': 'core.v1.NodeSystemInfo.kernelVersion',
    'Container-Runtime': 'core.v1.NodeSystemInfo.containerRuntimeVersion',
  },
  '/persistentvolumeclaims': {
    Status: 'core.v1.PersistentVolumeClaimStatus.phase',
    Volume: 'core.v1.PersistentVolumeClaimSpec.volumeName',
    Capacity: 'core.v1.PersistentVolumeClaimStatus.capacity',
    'Access Modes': 'core.v1.PersistentVolumeClaimStatus.accessModes',
    StorageClass: 'core.v1.PersistentVolumeClaimSpec.storageClassName',
    VolumeAttributesClass: 'core.v1.PersistentVolumeClaimSpec.volumeAttributesClassName',
    VolumeMode: 'core.v1.PersistentVolumeClaimSpec.volumeMode',
  },
  '/persistentvolumes': {
    Capacity: 'core.v1.PersistentVolumeSpec.capacity',
    'Access Modes': 'core.v1.PersistentVolumeSpec.accessModes',
    'Reclaim Policy': 'core.v1.PersistentVolumeSpec.persistentVolumeReclaimPolicy',
    Status: 'core.v1.PersistentVolumeStatus.phase',
    Claim: 'core.v1.PersistentVolumeSpec.claimRef',
    StorageClass: 'core.v1.PersistentVolumeSpec.storageClassName',
    VolumeAttributesClass: 'core.v1.PersistentVolumeSpec.volumeAttributesClassName',
    Reason: 'core.v1.PersistentVolumeStatus.reason',
    VolumeMode: 'core.v1.PersistentVolumeSpec.volumeMode',
  },
  '/pods': {
    Ready: 'How many of its containers are ready, of how many.',
    Status: 'Where the pod is in its life, or what keeps it from going on.',
    Restarts: 'How often its containers were started again, and how long ago the last time was.',
    IP: 'core.v1.PodStatus.podIP',
    Node: 'core.v1.PodSpec.nodeName',
    'Nominated Node': 'core.v1.PodStatus.nominatedNodeName',
    'Readiness Gates': 'core.v1.PodSpec.readinessGates',
  },
  '/podtemplates': { 'Pod Labels': 'Which labels the pods get.' },
  '/replicationcontrollers': {
    Desired: 'core.v1.ReplicationControllerSpec.replicas',
    Current: 'core.v1.ReplicationControllerStatus.replicas',
    Ready: 'core.v1.ReplicationControllerStatus.readyReplicas',
    Selector: 'core.v1.ReplicationControllerSpec.selector',
  },
  '/resourcequotas': {
    Request: 'What is used, of how much, for counts and requests.',
    Limit: 'What is used, of how much, for limits.',
  },
  '/secrets': { Type: 'core.v1.Secret.type', Data: 'core.v1.Secret.data' },
  '/serviceaccounts': { Secrets: 'core.v1.ServiceAccount.secrets' },
  '/services': {
    Type: 'core.v1.ServiceSpec.type',
    'Cluster-IP': 'core.v1.ServiceSpec.clusterIP',
    'External-IP': 'core.v1.ServiceSpec.externalIPs',
    'Port(s)': 'core.v1.ServiceSpec.ports',
    Selector: 'core.v1.ServiceSpec.selector',
  },
  'admissionregistration.k8s.io/mutatingadmissionpolicies': {
    Mutations: 'How many mutations the policy makes.',
    ParamKind: 'admissionregistration.v1.ValidatingAdmissionPolicySpec.paramKind',
  },
  'admissionregistration.k8s.io/mutatingadmissionpolicybindings': POLICY_BINDING,
  'admissionregistration.k8s.io/mutatingwebhookconfigurations': WEBHOOKS,
  'admissionregistration.k8s.io/validatingadmissionpolicies': {
    Validations: 'How many checks the policy makes.',
    ParamKind: 'admissionregistration.v1.ValidatingAdmissionPolicySpec.paramKind',
  },
  'admissionregistration.k8s.io/validatingadmissionpolicybindings': POLICY_BINDING,
  'admissionregistration.k8s.io/validatingwebhookconfigurations': WEBHOOKS,
  'apiregistration.k8s.io/apiservices': {
    Service: 'Which Service answers for the group version; Local for this server.',
    Available: 'Whether requests for the group version are answered, and why not.',
  },
  'apps/controllerrevisions': {
    Controller: 'Which controller the revision belongs to.',
    Revision: 'apps.v1.ControllerRevision.revision',
  },
  'apps/daemonsets': {
    Desired: 'apps.v1.DaemonSetStatus.desiredNumberScheduled',
    Current: 'apps.v1.DaemonSetStatus.currentNumberScheduled',
    Ready: 'apps.v1.DaemonSetStatus.numberReady',
    'Up-to-date': 'apps.v1.DaemonSetStatus.updatedNumberScheduled',
    Available: 'apps.v1.DaemonSetStatus.numberAvailable',
    'Node Selector': 'core.v1.PodSpec.nodeSelector',
    Selector: 'apps.v1.DaemonSetSpec.selector',
  },
  'apps/deployments': {
    Ready: 'How many pods are ready, of how many wanted.',
    'Up-to-date': 'apps.v1.DeploymentStatus.updatedReplicas',
    Available: 'apps.v1.DeploymentStatus.availableReplicas',
    Selector: 'apps.v1.DeploymentSpec.selector',
  },
  'apps/replicasets': {
    Desired: 'apps.v1.ReplicaSetSpec.replicas',
    Current: 'apps.v1.ReplicaSetStatus.replicas',
    Ready: 'apps.v1.ReplicaSetStatus.readyReplicas',
    Selector: 'apps.v1.ReplicaSetSpec.selector',
  },
  'apps/statefulsets': { Ready: 'How many pods are ready, of how many wanted.' },
  'autoscaling/horizontalpodautoscalers': {
    Reference: 'autoscaling.v2.HorizontalPodAutoscalerSpec.scaleTargetRef',
    Targets: 'autoscaling.v2.HorizontalPodAutoscalerSpec.metrics',
    MinPods: 'autoscaling.v2.HorizontalPodAutoscalerSpec.minReplicas',
    MaxPods: 'autoscaling.v2.HorizontalPodAutoscalerSpec.maxReplicas',
    Replicas: 'autoscaling.v2.HorizontalPodAutoscalerStatus.currentReplicas',
  },
  'batch/cronjobs': {
    Schedule: 'batch.v1.CronJobSpec.schedule',
    Timezone: 'batch.v1.CronJobSpec.timeZone',
    Suspend: 'batch.v1.CronJobSpec.suspend',
    Active: 'batch.v1.CronJobStatus.active',
    'Last Schedule': 'batch.v1.CronJobStatus.lastScheduleTime',
    Selector: 'batch.v1.JobSpec.selector',
  },
  'batch/jobs': {
    Status: 'Whether the job runs, waits, or how it ended.',
    Completions: 'batch.v1.JobStatus.succeeded',
    Duration: 'How long the job ran, or has been running.',
    Selector: 'batch.v1.JobSpec.selector',
  },
  'certificates.k8s.io/certificatesigningrequests': {
    SignerName: 'certificates.v1.CertificateSigningRequestSpec.signerName',
    Requestor: 'certificates.v1.CertificateSigningRequestSpec.username',
    RequestedDuration: 'certificates.v1.CertificateSigningRequestSpec.expirationSeconds',
    Condition: 'certificates.v1.CertificateSigningRequestStatus.conditions',
  },
  'coordination.k8s.io/leases': { Holder: 'coordination.v1.LeaseSpec.holderIdentity' },
  'discovery.k8s.io/endpointslices': {
    AddressType: 'discovery.v1.EndpointSlice.addressType',
    Ports: 'discovery.v1.EndpointSlice.ports',
    Endpoints: 'discovery.v1.EndpointSlice.endpoints',
  },
  'events.k8s.io/events': EVENT,
  'flowcontrol.apiserver.k8s.io/flowschemas': {
    PriorityLevel: 'flowcontrol.v1.PriorityLevelConfigurationReference.name',
    MatchingPrecedence: 'flowcontrol.v1.FlowSchemaSpec.matchingPrecedence',
    DistinguisherMethod: 'flowcontrol.v1.FlowSchemaSpec.distinguisherMethod',
    MissingPL: 'Whether its priority level is missing.',
  },
  'flowcontrol.apiserver.k8s.io/prioritylevelconfigurations': {
    Type: 'flowcontrol.v1.PriorityLevelConfigurationSpec.type',
    NominalConcurrencyShares: 'flowcontrol.v1.LimitedPriorityLevelConfiguration.nominalConcurrencyShares',
    Queues: 'flowcontrol.v1.QueuingConfiguration.queues',
    HandSize: 'flowcontrol.v1.QueuingConfiguration.handSize',
    QueueLengthLimit: 'flowcontrol.v1.QueuingConfiguration.queueLengthLimit',
  },
  'networking.k8s.io/ingressclasses': {
    Controller: 'networking.v1.IngressClassSpec.controller',
    Parameters: 'networking.v1.IngressClassSpec.parameters',
  },
  'networking.k8s.io/ingresses': {
    Class: 'networking.v1.IngressSpec.ingressClassName',
    Hosts: 'Which hosts its rules are for.',
    Address: 'networking.v1.IngressLoadBalancerStatus.ingress',
    Ports: 'Where it listens: 80, and 443 with TLS.',
  },
  'networking.k8s.io/ipaddresses': { ParentRef: 'networking.v1.IPAddressSpec.parentRef' },
  'networking.k8s.io/networkpolicies': { 'Pod-Selector': 'networking.v1.NetworkPolicySpec.podSelector' },
  'networking.k8s.io/servicecidrs': { CIDRs: 'networking.v1.ServiceCIDRSpec.cidrs' },
  'node.k8s.io/runtimeclasses': { Handler: '' },
  'policy/poddisruptionbudgets': {
    'Min Available': 'policy.v1.PodDisruptionBudgetSpec.minAvailable',
    'Max Unavailable': 'policy.v1.PodDisruptionBudgetSpec.maxUnavailable',
    'Allowed Disruptions': 'policy.v1.PodDisruptionBudgetStatus.disruptionsAllowed',
  },
  'rbac.authorization.k8s.io/clusterrolebindings': {
    ...BINDING,
    Role: 'rbac.v1.ClusterRoleBinding.roleRef',
  },
  'rbac.authorization.k8s.io/rolebindings': BINDING,
  'scheduling.k8s.io/priorityclasses': {
    Value: 'scheduling.v1.PriorityClass.value',
    'Global-Default': 'scheduling.v1.PriorityClass.globalDefault',
    PreemptionPolicy: 'scheduling.v1.PriorityClass.preemptionPolicy',
  },
  'storage.k8s.io/csidrivers': {
    AttachRequired: 'storage.v1.CSIDriverSpec.attachRequired',
    PodInfoOnMount: 'storage.v1.CSIDriverSpec.podInfoOnMount',
    StorageCapacity: 'storage.v1.CSIDriverSpec.storageCapacity',
    TokenRequests: 'storage.v1.CSIDriverSpec.tokenRequests',
    RequiresRepublish: 'storage.v1.CSIDriverSpec.requiresRepublish',
    Modes: 'storage.v1.CSIDriverSpec.volumeLifecycleModes',
  },
  'storage.k8s.io/csinodes': { Drivers: 'storage.v1.CSINodeSpec.drivers' },
  'storage.k8s.io/storageclasses': {
    Provisioner: 'storage.v1.StorageClass.provisioner',
    ReclaimPolicy: 'storage.v1.StorageClass.reclaimPolicy',
    VolumeBindingMode: 'storage.v1.StorageClass.volumeBindingMode',
    AllowVolumeExpansion: 'storage.v1.StorageClass.allowVolumeExpansion',
  },
  'storage.k8s.io/volumeattachments': {
    Attacher: 'storage.v1.VolumeAttachmentSpec.attacher',
    PV: 'storage.v1.VolumeAttachmentSource.persistentVolumeName',
    Node: 'storage.v1.VolumeAttachmentSpec.nodeName',
    Attached: 'storage.v1.VolumeAttachmentStatus.attached',
  },
  'storage.k8s.io/volumeattributesclasses': { DriverName: 'storage.v1.VolumeAttributesClass.driverName' },
};
