import type { CustomKind } from '../../kube/custom-resource.ts';
import type { OpenApiSchema } from '../../schema/open-api-schema.ts';
import { conditionsSchema, flag, integer, list, mapOf, oneOf, record, text } from '../../schema/schema-of.ts';

const blueprintRef = (description?: string) =>
  record({ name: text(), revision: text() }, description, { required: ['name'] });
const dateTime = (description: string) => text(description, { format: 'date-time' });

const CREDENTIAL_ARMS = ['kubeconfig', 'aws', 'azure', 'gcp', 'tunnel'] as const;

/** The credential is a union: the arm that type names, and no other (K3). */
function union(schema: OpenApiSchema): OpenApiSchema {
  return {
    ...schema,
    'x-kubernetes-validations': CREDENTIAL_ARMS.map((arm) => ({
      rule: `!has(self.${arm}) || self.type == '${arm}'`,
      messageExpression: `'${arm} must not be set with type ' + self.type`,
      fieldPath: `.${arm}`,
      reason: 'FieldValueForbidden',
    })),
  };
}

/** A reference to a Secret of the cluster gateway is a credential of its own; there is one in any case. */
function withGatewayRef(properties: Record<string, OpenApiSchema>): OpenApiSchema {
  return record(properties, undefined, {
    required: ['credential'],
    'x-kubernetes-validations': [
      {
        rule: "self.credential.type != 'gateway' || has(self.clusterGatewayRef)",
        message: 'a credential is required, or clusterGatewayRef',
        fieldPath: '.credential',
        reason: 'FieldValueRequired',
      },
      {
        rule: "!has(self.clusterGatewayRef) || self.credential.type == 'gateway'",
        messageExpression: "'clusterGatewayRef must not be set with type ' + self.credential.type",
        fieldPath: '.clusterGatewayRef',
        reason: 'FieldValueForbidden',
      },
    ],
  });
}

const taint = record(
  {
    key: text(undefined, { minLength: 1 }),
    value: text(),
    effect: oneOf(
      ['NoSelect', 'NoSelectIfNew', 'PreferNoSelect'],
      'NoSelect takes the cluster out of placements that do not tolerate it; NoSelectIfNew only keeps new ones away.',
    ),
    timeAdded: dateTime('Since when. Tolerations for some seconds count from here.'),
  },
  undefined,
  { required: ['key', 'effect'] },
);

const policyTaint: OpenApiSchema = {
  ...taint,
  properties: { ...taint.properties, policy: text('The ClusterTaintPolicy that put it there.') },
};

const PROPERTIES_TEXT =
  'What the cluster says of itself, in ClusterProperty (about.k8s.io) and ClusterClaim objects. Placements may ask for it.';

const clusterInfo = record(
  {
    kubernetesVersion: text(),
    platform: text(),
    region: text(),
    zones: list(text(), 'Zones of the nodes, by name.'),
    nodeCount: integer(),
    totalCPU: text(),
    totalMemory: text(),
    capacity: mapOf(text(), 'What the nodes have, by resource.'),
    allocatable: mapOf(text(), 'What pods may use of it.'),
    id: text(
      'The same for the same cluster, whatever it is called: its property id.k8s.io, or the uid of its namespace kube-system.',
    ),
    apiServerEndpoint: text(),
    latencyMillis: integer(undefined, { format: 'int64' }),
    lastSyncedTime: dateTime('When this was last read from the cluster.'),
  },
  'Facts of the cluster, the last known ones while it is away.',
);

/**
 * One child cluster, listed at its hub (core.oam.dev/v1beta1). Fields and limits are those of the published type; the
 * credential type `tunnel` is ours: the spoke dials, and no credential of it is kept at the hub.
 */
export const SPOKE_CLUSTER: CustomKind = {
  group: 'core.oam.dev',
  version: 'v1beta1',
  kind: 'SpokeCluster',
  plural: 'spokeclusters',
  shortNames: ['spc'],
  categories: ['oam', 'atoll'],
  scope: 'Namespaced',
  description: 'A cluster of the fleet: how the hub reaches it, and what it knows of it.',
  spec: withGatewayRef({
    mode: oneOf(
      ['connect', 'adopt', 'provision'],
      'connect attaches to a cluster that exists and never creates one.',
      { default: 'connect' },
    ),
    credential: union(
      record(
        {
          type: oneOf(
            ['kubeconfig', 'aws', 'azure', 'gcp', 'tunnel', 'gateway'],
            'Which of the arms below is used; gateway is the Secret that spec.clusterGatewayRef names.',
          ),
          kubeconfig: record(
            {
              secretRef: record(
                {
                  name: text(undefined, { minLength: 1 }),
                  namespace: text(),
                  key: text('Key of the Secret.', { default: 'kubeconfig' }),
                },
                'Secret in the namespace of the SpokeCluster.',
                { required: ['name'] },
              ),
              disabledTLSValidations: list(
                oneOf(['*', 'SubjectName', 'ValidityPeriod']),
                "Ours: what is left out of the check of the server's certificate. * stands alone, is all of it, and has to be allowed by the operator of the hub.",
                {
                  maxItems: 2,
                  'x-kubernetes-validations': [
                    {
                      rule: "!('*' in self) || size(self) == 1",
                      message: '* means all checks and must stand alone',
                    },
                  ],
                },
              ),
            },
            undefined,
            { required: ['secretRef'] },
          ),
          aws: record({
            authMode: oneOf(['podIdentity', 'irsa']),
            clusterName: text(),
            region: text(),
            roleArn: text(),
            externalId: text(),
          }),
          azure: record({
            authMode: oneOf(['workloadIdentity', 'managedIdentity']),
            subscriptionID: text(),
            resourceGroup: text(),
            clusterName: text(),
            tenantID: text(),
            clientID: text(),
          }),
          gcp: record({
            authMode: oneOf(['workloadIdentityFederation', 'serviceAccount']),
            projectID: text(),
            location: text(),
            clusterName: text(),
            serviceAccountEmail: text(),
          }),
          tunnel: record({}, 'The spoke dials the hub.'),
        },
        'How the hub reaches the cluster; exactly the arm that type names.',
        { required: ['type'], default: { type: 'gateway' } },
      ),
    ),
    clusterGatewayRef: record(
      { name: text(undefined, { minLength: 1 }), namespace: text() },
      'For type gateway: a Secret of the cluster gateway, as `vela cluster join` makes them, in the namespace of the SpokeCluster. It is read, and never written.',
      { required: ['name'] },
    ),
    probeIntervalSeconds: integer('Seconds between probes.', {
      format: 'int32',
      default: 30,
      minimum: 10,
      maximum: 600,
    }),
    probeTimeoutSeconds: integer('Seconds that a probe may take.', {
      format: 'int32',
      default: 10,
      minimum: 1,
      maximum: 120,
    }),
    probeFailureThreshold: integer('Ours: probes in a row that fail until the connection counts as lost.', {
      format: 'int32',
      minimum: 1,
      maximum: 100,
    }),
    probeSuccessThreshold: integer('Ours: probes in a row that succeed until it counts as back.', {
      format: 'int32',
      minimum: 1,
      maximum: 100,
    }),
    deletionPolicy: oneOf(
      ['detach', 'orphan', 'cleanup'],
      'What happens on the cluster when this object is deleted. detach: the hub lets go, objects stay. orphan: even its orders stay, and are kept up. cleanup (ours): what was dispatched is taken away.',
      { default: 'detach' },
    ),
    hubAcceptsClient: flag(
      'Ours, for type tunnel: whether the hub lets the spoke in. false holds it out, and cuts it off at once where it is in.',
    ),
    bytesPerHour: text(
      'Ours: how much content the hub sends to the cluster in an hour, such as 50Mi, compressed as it is sent. What is over goes on in the next hour; an order that brings nothing never waits.',
      { pattern: '^[1-9][0-9]{0,8}(k|M|G|Ki|Mi|Gi)?$' },
    ),
    taints: list(taint, 'Keep placements away that do not tolerate them.'),
    unschedulable: flag('Cordoned: no placement chooses this cluster anew; what is there stays.'),
    maintenance: record(
      {
        windows: list(
          record(
            {
              name: text(undefined, { maxLength: 63 }),
              start: text('HH:MM.', { pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$' }),
              end: text('HH:MM; not later than start means the next day.', {
                pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$',
              }),
              timezone: text('IANA name, such as Europe/Oslo. UTC by default.', { maxLength: 63 }),
              days: list(
                oneOf(['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']),
                'On which it starts; every day by default.',
                { maxItems: 7 },
              ),
              dstPolicy: oneOf(
                ['extend', 'shrink', 'skip'],
                'For a window that a change of clocks makes longer or shorter; extend by default.',
              ),
            },
            undefined,
            { required: ['start', 'end'] },
          ),
          'When rollouts may change the cluster. A window that is not valid never opens.',
          { maxItems: 32 },
        ),
        enforceWindow: flag('Also for rollouts that would not mind the windows of clusters.'),
        allowEmergencyUpdates: flag('An emergency goes through outside of the windows.'),
      },
      'When rollouts (docs/rollouts.md) may change the cluster.',
    ),
    patches: list(
      record(
        {
          plane: text(
            'An intent, such as a Propagation: its name in this namespace, or namespace/name; the kind may stand before it, Kind/namespace/name.',
            { minLength: 1, maxLength: 512 },
          ),
          component: text('An object of it: name, Kind/name or Kind/namespace/name.', {
            minLength: 1,
            maxLength: 512,
          }),
          properties: {
            type: 'object',
            description:
              'Merged into the object: maps by key, lists as a whole, after all overrides. null takes a field away.',
            'x-kubernetes-preserve-unknown-fields': true,
          },
        },
        undefined,
        { required: ['plane', 'component', 'properties'] },
      ),
      'What is different on this cluster of what is dispatched to it. The last of several that say something of a field wins.',
      { maxItems: 64 },
    ),
    infraProvisioning: record({
      blueprintRef: blueprintRef('Blueprint that the hub reconciles before it dispatches.'),
    }),
    blueprintRef: blueprintRef('Desired blueprint. No controller writes it.'),
    rolloutStrategyRef: record({ name: text(), revision: text() }, undefined, { required: ['name'] }),
  }),
  status: record({
    observedGeneration: integer(undefined, { format: 'int64' }),
    connection: oneOf(['Connected', 'Disconnected', 'Unknown']),
    conditions: conditionsSchema,
    clusterInfo,
    apiEnablements: list(
      record({ groupVersion: text(), kinds: list(text()) }),
      'Kinds that the cluster serves, by group and version.',
    ),
    properties: mapOf(text(), PROPERTIES_TEXT),
    lastProbeTime: dateTime('Last attempt to reach the cluster.'),
    taints: list(taint, 'Taints that the hub set by itself, such as atoll.dev/unreachable.'),
    policyTaints: list(policyTaint, 'Taints that ClusterTaintPolicies put there.'),
    observedTaints: list(taint, 'The taints of the spec, each with the time since which it is there.'),
    engine: text('Version of the spoke engine; absent where none runs.'),
    dispatchedRevision: text('One word for everything that was dispatched.'),
    appliedRevision: text('The same word as the spoke reports it.'),
    health: record(
      {
        status: text(),
        planesHealthy: integer(),
        planesTotal: integer(),
        objectsHealthy: integer(),
        objectsTotal: integer(),
        lastPulledAt: dateTime('When this was last read from the spoke.'),
      },
      'Health as the spoke reports it.',
    ),
  }),
  columns: [
    { name: 'Mode', type: 'string', jsonPath: '.spec.mode' },
    { name: 'Version', type: 'string', jsonPath: '.status.clusterInfo.kubernetesVersion' },
    { name: 'Nodes', type: 'integer', jsonPath: '.status.clusterInfo.nodeCount' },
    { name: 'Platform', type: 'string', jsonPath: '.status.clusterInfo.platform' },
    { name: 'Status', type: 'string', jsonPath: '.status.connection' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    { name: 'Region', type: 'string', jsonPath: '.status.clusterInfo.region', priority: 1 },
    { name: 'Endpoint', type: 'string', jsonPath: '.status.clusterInfo.apiServerEndpoint', priority: 1 },
    { name: 'CPU', type: 'string', jsonPath: '.status.clusterInfo.totalCPU', priority: 1 },
    { name: 'Memory', type: 'string', jsonPath: '.status.clusterInfo.totalMemory', priority: 1 },
    { name: 'Latency', type: 'integer', jsonPath: '.status.clusterInfo.latencyMillis', priority: 1 },
    { name: 'Synced', type: 'date', jsonPath: '.status.clusterInfo.lastSyncedTime', priority: 1 },
    { name: 'Auth', type: 'string', jsonPath: '.spec.credential.type', priority: 1 },
    { name: 'Last Probe', type: 'date', jsonPath: '.status.lastProbeTime', priority: 1 },
  ],
};

/** A cluster's picture of itself, written by its own engine (core.oam.dev/v1beta1). */
export const CLUSTER: CustomKind = {
  group: 'core.oam.dev',
  version: 'v1beta1',
  kind: 'Cluster',
  plural: 'clusters',
  categories: ['oam', 'atoll'],
  scope: 'Namespaced',
  description:
    'This cluster as its own engine sees it: what was dispatched to it, what is applied, how it is.',
  spec: record({
    clusterInit: record({ blueprintRef: blueprintRef() }),
    planeProvisioning: record({ blueprintRef: blueprintRef() }),
    healthValidation: record({ blueprintRef: blueprintRef() }),
  }),
  status: record({
    engine: text('Version of the engine.'),
    clusterInfo,
    properties: mapOf(text(), PROPERTIES_TEXT),
    dispatchedRevision: text('One word for everything that was dispatched.'),
    appliedRevision: text('One word for everything that is applied.'),
    dispatches: list(
      record({
        name: text(),
        source: text(),
        revision: text(),
        generation: integer(undefined, { format: 'int64' }),
        appliedGeneration: integer(undefined, { format: 'int64' }),
        appliedAt: dateTime(''),
        health: text(),
        kept: list(
          record({ apiVersion: text(), kind: text(), namespace: text(), name: text() }),
          'Objects that are kept though the order for them was deleted here. Absence never deletes.',
        ),
        keptMore: integer('How many more are kept that are not named.'),
      }),
    ),
    health: record({ status: text(), objectsHealthy: integer(), objectsTotal: integer() }),
    drift: record({ corrections: integer(), last: mapOf(text()) }),
    contract: text('One word for the SpokeContracts here; another one where any of them changed.'),
    conditions: conditionsSchema,
  }),
  columns: [
    { name: 'Version', type: 'string', jsonPath: '.status.clusterInfo.kubernetesVersion' },
    { name: 'Revision', type: 'string', jsonPath: '.status.appliedRevision', priority: 1 },
    { name: 'Objects', type: 'integer', jsonPath: '.status.health.objectsTotal' },
    { name: 'Healthy', type: 'integer', jsonPath: '.status.health.objectsHealthy' },
    { name: 'Health', type: 'string', jsonPath: '.status.health.status' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
};
