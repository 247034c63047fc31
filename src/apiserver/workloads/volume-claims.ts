import type { KubeObject } from '../../kube/object.ts';
import { hasCode } from '../../kube/status-error.ts';
import { stringAt } from '../../schema/json.ts';
import type { Pod, VolumeClaim } from './kinds.ts';
import type { Mirror } from './mirror.ts';
import { isDeleting, keyOf, splitKey } from './owner.ts';
import { isFinished } from './pod-state.ts';
import type { World } from './world.ts';

const PROVISIONED_BY = 'pv.kubernetes.io/provisioned-by';
const CLAIM_PROTECTION = 'kubernetes.io/pvc-protection';
const VOLUME_PROTECTION = 'kubernetes.io/pv-protection';
const PROVISIONER = 'sim.atoll.dev/volumes';

/**
 * Gives every PersistentVolumeClaim a volume at once, and takes it away when the claim is gone. Claims that pods use, and
 * volumes that claims use, are held by their protecting finalizers until they are free.
 */
export function startVolumeClaims(world: World): void {
  const { volumeClaims, volumes, pods } = world;
  const controller = world.control({
    name: 'volumeclaim',
    writes: [volumes, volumeClaims],
    reconcile: async (key) => {
      const claim = volumeClaims.get(...splitKey(key));
      if (claim === undefined) return;
      if (!isDeleting(claim)) await bind(world, claim);
      else if (!isInUse(world, claim)) await unprotect(volumeClaims, claim, CLAIM_PROTECTION);
    },
  });
  const cleaner = world.control({
    name: 'volume',
    writes: [volumes],
    reconcile: async (key) => {
      const volume = volumes.get(...splitKey(key));
      if (!volume) return;
      const { namespace = '', name = '', uid } = volume.spec.claimRef ?? {};
      if (uid !== undefined && volumeClaims.get(namespace, name)?.metadata.uid === uid) return;
      if (isDeleting(volume)) await unprotect(volumes, volume, VOLUME_PROTECTION);
      else if (isOurs(volume)) await volumes.remove(volume);
    },
  });
  volumeClaims.onChange(({ type, object }) => {
    if (type === 'deleted') cleaner.enqueue(`/${volumeName(object)}`);
    else controller.enqueue(keyOf(object));
  });
  volumes.onChange(({ type, object }) => {
    if (type === 'added' || isDeleting(object)) cleaner.enqueue(keyOf(object));
  });
  // The last pod that uses a claim holds up its deletion.
  pods.onChange(({ type, object }) => {
    if (type !== 'deleted' && !isFinished(object)) return;
    for (const name of claimsOf(object)) {
      const claim = volumeClaims.get(object.metadata.namespace ?? '', name);
      if (claim && isDeleting(claim)) controller.enqueue(keyOf(claim));
    }
  });
}

function claimsOf(pod: Pod): string[] {
  const out: string[] = [];
  for (const volume of pod.spec.volumes ?? []) {
    const name = stringAt(volume, 'persistentVolumeClaim', 'claimName');
    if (name !== undefined) out.push(name);
  }
  return out;
}

function isInUse(world: World, claim: VolumeClaim): boolean {
  const name = claim.metadata.name ?? '';
  return world.pods
    .list(claim.metadata.namespace ?? '')
    .some((pod) => !isFinished(pod) && claimsOf(pod).includes(name));
}

async function unprotect<T extends KubeObject>(
  mirror: Mirror<T>,
  object: T,
  finalizer: string,
): Promise<void> {
  const finalizers = object.metadata.finalizers ?? [];
  if (!finalizers.includes(finalizer)) return;
  const left = finalizers.filter((each) => each !== finalizer);
  await mirror.patch(object, { metadata: { finalizers: left.length > 0 ? left : null } });
}

function volumeName(claim: VolumeClaim): string {
  return `pvc-${claim.metadata.uid}`;
}

function isOurs(volume: { metadata: VolumeClaim['metadata'] }): boolean {
  return volume.metadata.annotations?.[PROVISIONED_BY] === PROVISIONER;
}

async function bind(world: World, claim: VolumeClaim): Promise<void> {
  const { volumes, volumeClaims } = world;
  if (claim.status?.phase === 'Bound') return;
  const name = claim.spec.volumeName ? claim.spec.volumeName : volumeName(claim);
  const capacity = { storage: claim.spec.resources?.requests?.storage ?? '1Gi' };
  const accessModes = claim.spec.accessModes ?? ['ReadWriteOnce'];
  if (!claim.spec.volumeName && !volumes.get('', name)) {
    try {
      await volumes.create({
        apiVersion: 'v1',
        kind: 'PersistentVolume',
        metadata: { name, annotations: { [PROVISIONED_BY]: PROVISIONER } },
        spec: {
          capacity,
          accessModes,
          persistentVolumeReclaimPolicy: 'Delete',
          volumeMode: claim.spec.volumeMode ?? 'Filesystem',
          ...(claim.spec.storageClassName === undefined
            ? {}
            : { storageClassName: claim.spec.storageClassName }),
          claimRef: {
            apiVersion: 'v1',
            kind: 'PersistentVolumeClaim',
            namespace: claim.metadata.namespace ?? '',
            name: claim.metadata.name ?? '',
            uid: claim.metadata.uid ?? '',
          },
          hostPath: { path: `/var/lib/simulated/${name}` },
        },
      });
      await volumes.caughtUp();
    } catch (error) {
      if (!hasCode(error, 409)) throw error; // made before, and not seen yet
    }
  }
  const volume = volumes.get('', name);
  if (volume && volume.status?.phase !== 'Bound')
    await volumes.setStatus(volume, { ...volume.status, phase: 'Bound' });
  const bound = claim.spec.volumeName
    ? claim
    : await volumeClaims.patch(claim, { spec: { volumeName: name } });
  await volumeClaims.setStatus(bound, { ...bound.status, phase: 'Bound', accessModes, capacity });
}
