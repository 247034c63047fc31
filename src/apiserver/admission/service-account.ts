import { asJson, type KubeObject } from '../../kube/object.ts';
import { nameSuffix, type Random } from '../../runtime/index.ts';
import { at, clone, isObject, type JsonObject, listAt, stringAt } from '../../schema/json.ts';
import { objectKey } from '../store/key.ts';
import type { AdmissionPlugin } from './plugin.ts';
import { forbiddenStatus } from './refusal.ts';

const MIRROR_POD = 'kubernetes.io/config.mirror';
const VOLUME_PREFIX = 'kube-api-access-';
const MOUNT_PATH = '/var/run/secrets/kubernetes.io/serviceaccount';
/** An hour and a little, by which those who renew tokens know one that nobody asked for. */
const TOKEN_SECONDS = 3607;

/**
 * Gives a new pod its service account, which must exist: the account's pull secrets, and unless the pod or the account
 * wants none, a volume with a token in every container.
 */
export const serviceAccount: AdmissionPlugin = {
  name: 'ServiceAccount',
  mutate({ operation, scope, name, object }): void {
    const { resource, server, cluster } = scope;
    if (operation !== 'CREATE' || resource.group !== '' || resource.resource !== 'pods' || !object) return;
    if (scope.subresource !== undefined || object.metadata.annotations?.[MIRROR_POD] !== undefined) return;
    const spec = isObject(object.spec) ? object.spec : {};
    object.spec = spec;
    const accountName = stringAt(spec, 'serviceAccountName') || 'default';
    spec.serviceAccountName = accountName;
    spec.serviceAccount = accountName;
    const namespace = object.metadata.namespace ?? scope.namespace;
    const account = server.store.get(
      objectKey('', 'serviceaccounts', cluster, namespace, accountName),
    )?.object;
    if (account === undefined)
      throw forbiddenStatus(
        '',
        'pods',
        name,
        `error looking up service account ${namespace}/${accountName}: serviceaccount ${JSON.stringify(accountName)} not found`,
      );
    if (mountsToken(spec, account)) mountToken(spec, server.runtime.random);
    const pullSecrets = listAt(asJson(account), 'imagePullSecrets');
    if (pullSecrets.length > 0 && listAt(spec, 'imagePullSecrets').length === 0)
      spec.imagePullSecrets = clone(pullSecrets);
  },
};

/** The pod's word goes before the account's. */
function mountsToken(spec: JsonObject, account: KubeObject): boolean {
  const own = at(spec, 'automountServiceAccountToken') ?? at(account, 'automountServiceAccountToken');
  return own !== false;
}

function mountToken(spec: JsonObject, random: Random): void {
  const volumes = listAt(spec, 'volumes');
  const present = volumes
    .map((volume) => stringAt(volume, 'name') ?? '')
    .find((volume) => volume.startsWith(VOLUME_PREFIX));
  const name = present ?? `${VOLUME_PREFIX}${nameSuffix(random)}`;
  let mounted = false;
  for (const list of ['initContainers', 'containers']) {
    for (const container of listAt(spec, list)) {
      if (!isObject(container)) continue;
      const mounts = listAt(container, 'volumeMounts');
      // Whoever mounts something there has their own idea of the token.
      if (mounts.some((mount) => stringAt(mount, 'mountPath') === MOUNT_PATH)) continue;
      container.volumeMounts = [...mounts, { name, readOnly: true, mountPath: MOUNT_PATH }];
      mounted = true;
    }
  }
  if (mounted && present === undefined) spec.volumes = [...volumes, tokenVolume(name)];
}

function tokenVolume(name: string): JsonObject {
  return {
    name,
    projected: {
      defaultMode: 420,
      sources: [
        { serviceAccountToken: { expirationSeconds: TOKEN_SECONDS, path: 'token' } },
        { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
        {
          downwardAPI: {
            items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
          },
        },
      ],
    },
  };
}
