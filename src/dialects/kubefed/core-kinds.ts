import type { CustomKind } from '../../kube/custom-resource.ts';
import type { OpenApiSchema } from '../../schema/open-api-schema.ts';
import { conditionsSchema, integer, list, oneOf, record, text } from '../../schema/schema-of.ts';
import { FEATURE_GATES } from './config.ts';

export const CORE_GROUP = 'core.kubefed.io';
export const CORE_VERSION = 'v1beta1';

const duration = (description: string): OpenApiSchema => text(description, { maxLength: 64 });

/** A member of the federation. A view of the SpokeCluster of the same name. */
export const KUBEFED_CLUSTER: CustomKind = {
  group: CORE_GROUP,
  version: CORE_VERSION,
  kind: 'KubeFedCluster',
  plural: 'kubefedclusters',
  shortNames: ['kfc'],
  scope: 'Namespaced',
  required: ['spec'],
  description: 'A member cluster: where its API is, and whether it answers.',
  spec: record(
    {
      apiEndpoint: text('URL of its API server: host, host:port or http(s)://host[:port].'),
      caBundle: text(
        'PEM of the authorities that its certificate is checked with; those of the system without it.',
        {
          format: 'byte',
        },
      ),
      secretRef: record(
        { name: text('In the namespace of this object.') },
        'Secret that holds the key `token`.',
        {
          required: ['name'],
        },
      ),
      disabledTLSValidations: list(
        text(),
        'Checks of its certificate that are left out: SubjectName, ValidityPeriod, or * alone for all of them.',
      ),
      proxyURL: text('Proxy that leads to it: http, https or socks5.'),
    },
    undefined,
    { required: ['apiEndpoint', 'secretRef'] },
  ),
  status: record({
    conditions: list(
      record(
        {
          type: text('Ready, Offline or ConfigMalformed.'),
          status: text('True, False or Unknown.'),
          lastProbeTime: text('When it was looked at last.', { format: 'date-time' }),
          lastTransitionTime: text('Since when the status is what it is.', { format: 'date-time' }),
          reason: text(),
          message: text(),
        },
        undefined,
        { required: ['type', 'status', 'lastProbeTime'] },
      ),
    ),
    kubernetesVersion: text(),
    zones: list(text(), 'Zones that its nodes are in.'),
    region: text('Region that its nodes are in.'),
  }),
  columns: [
    { name: 'age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    { name: 'ready', type: 'string', jsonPath: ".status.conditions[?(@.type=='Ready')].status" },
    { name: 'kubernetes-version', type: 'string', jsonPath: '.status.kubernetesVersion' },
  ],
};

const resource = (required: readonly string[], description: string): OpenApiSchema =>
  record(
    {
      group: text('Empty for the core group.'),
      version: text(),
      kind: text(),
      pluralName: text(
        'As in URLs; made from the kind, or from the name of this object, where it is left out.',
      ),
      scope: oneOf(['Cluster', 'Namespaced']),
    },
    description,
    { required: [...required] },
  );

/** Makes a type of the API one that is federated. */
export const FEDERATED_TYPE_CONFIG: CustomKind = {
  group: CORE_GROUP,
  version: CORE_VERSION,
  kind: 'FederatedTypeConfig',
  plural: 'federatedtypeconfigs',
  shortNames: ['ftc'],
  scope: 'Namespaced',
  required: ['spec'],
  description:
    'Which kind of object is made on members from which federated kind. Named <plural> or <plural>.<group>.',
  spec: record(
    {
      targetType: resource(['kind', 'scope', 'version'], 'What is made on members.'),
      propagation: oneOf(['Enabled', 'Disabled'], 'Whether it is propagated.'),
      federatedType: resource(['kind', 'scope', 'version'], 'The kind that it is made from.'),
      statusType: resource([], 'A kind of its own for collected status.'),
      statusCollection: oneOf(['Enabled', 'Disabled'], 'Whether the status of members is collected.'),
    },
    undefined,
    { required: ['federatedType', 'propagation', 'targetType'] },
  ),
  status: record(
    {
      observedGeneration: integer(undefined, { format: 'int64' }),
      propagationController: oneOf(['Running', 'NotRunning']),
      statusController: oneOf(['Running', 'NotRunning']),
      conditions: conditionsSchema,
    },
    undefined,
    { required: ['observedGeneration', 'propagationController'] },
  ),
};

const enabled = (description: string): OpenApiSchema => oneOf(['Enabled', 'Disabled'], description);

/** Settings of the federation. There is one, `kubefed`. */
export const KUBEFED_CONFIG: CustomKind = {
  group: CORE_GROUP,
  version: CORE_VERSION,
  kind: 'KubeFedConfig',
  plural: 'kubefedconfigs',
  scope: 'Namespaced',
  required: ['spec'],
  description: 'Settings of the federation. Only the object named kubefed is read.',
  spec: record(
    {
      scope: oneOf(
        ['Cluster', 'Namespaced'],
        'What is federated: everything, or one namespace. It stays as it is.',
        {
          'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'scope cannot be changed' }],
        },
      ),
      controllerDuration: record({
        availableDelay: duration('How long to wait after a member became ready. 20s by default.'),
        unavailableDelay: duration('How long to wait after a member became unready. 60s by default.'),
        cacheSyncTimeout: duration('How long a first reading may take. 5m by default.'),
        clusterMonitorPeriod: duration('Nothing heeds it any more; manifests of early releases have it.'),
      }),
      leaderElect: record({
        leaseDuration: duration('15s by default.'),
        renewDeadline: duration('10s by default.'),
        retryPeriod: duration('5s by default.'),
        resourceLock: oneOf(['configmaps', 'endpoints'], 'configmaps by default.'),
      }),
      featureGates: list(
        record(
          { name: oneOf(Object.keys(FEATURE_GATES)), configuration: enabled('Whether it is on.') },
          undefined,
          { required: ['configuration', 'name'] },
        ),
        'Each at most once.',
        { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] },
      ),
      clusterHealthCheck: record({
        period: duration('10s by default.'),
        failureThreshold: integer('Failures in a row. 3 by default.', { format: 'int64' }),
        successThreshold: integer('Successes in a row. 1 by default.', { format: 'int64' }),
        timeout: duration('3s by default.'),
      }),
      syncController: record({
        maxConcurrentReconciles: integer('1 by default.', { format: 'int64' }),
        adoptResources: enabled('Whether objects that are there already are taken over. Enabled by default.'),
      }),
      statusController: record({
        maxConcurrentReconciles: integer('1 by default.', { format: 'int64' }),
      }),
    },
    undefined,
    { required: ['scope'] },
  ),
  status: record({ conditions: conditionsSchema }),
};
