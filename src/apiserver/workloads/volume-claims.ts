import { hasCode } from '../../kube/status-error.ts';
import type { VolumeClaim } from './kinds.ts';
import { isDeleting, keyOf, splitKey } from './owner.ts';
import type { World } from './world.ts';

const PROVISIONED_BY = 'pv.kubernetes.io/provisioned-by';
const PROVISIONER = 'sim.atoll.dev/volumes';

/** Gives every PersistentVolumeClaim a volume at once, and takes it away when the claim is gone. */
export function startVolumeClaims(world: World): void {
  const { volumeClaims, volumes } = world;
  const controller = world.control({
    name: 'volumeclaim',
    writes: [volumes, volumeClaims],
    reconcile: async (key) => {
      const claim = volumeClaims.get(...splitKey(key));
      if (claim) await bind(world, claim);
    },
  });
  const cleaner = world.control({
    name: 'volume',
    writes: [volumes],
    reconcile: async (key) => {
      const volume = volumes.get(...splitKey(key));
      if (!volume || isDeleting(volume) || !isOurs(volume)) return;
      const { namespace = '', name = '', uid } = volume.spec.claimRef ?? {};
      if (volumeClaims.get(namespace, name)?.metadata.uid !== uid) await volumes.remove(volume);
    },
  });
  volumeClaims.onChange(({ type, object }) => {
    if (type === 'deleted') cleaner.enqueue(`/${volumeName(object)}`);
    else controller.enqueue(keyOf(object));
  });
  volumes.onChange(({ type, object }) => {
    if (type === 'added' && isOurs(object)) cleaner.enqueue(keyOf(object));
  });
}

function volumeName(claim: VolumeClaim): string {
  return `pvc-${claim.metadata.uid}`;
}

function isOurs(volume: { metadata: VolumeClaim['metadata'] }): boolean {
  return volume.metadata.annotations?.[PROVISIONED_BY] === PROVISIONER;
}

async function bind(world: World, claim: VolumeClaim): Promise<void> {
  const { volumes, volumeClaims } = world;
  if (isDeleting(claim) || claim.status?.phase === 'Bound') return;
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
