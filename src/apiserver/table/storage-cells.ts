import type { KubeObject } from '../../kube/object.ts';
import { at, listAt } from '../../schema/json.ts';
import {
  age,
  type Cells,
  flagAt,
  nameOf,
  objectsAt,
  orElse,
  scalarAt,
  textAt,
  textsAt,
  UNSET,
} from './cell-text.ts';

const MODES: Readonly<Record<string, string>> = {
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
};

/** In a fixed order, whatever the object's. */
function accessModes(modes: readonly string[]): string {
  return Object.keys(MODES)
    .filter((mode) => modes.includes(mode))
    .map((mode) => MODES[mode])
    .join(',');
}

/** The annotation came before the field and still wins. */
function storageClassOf(object: KubeObject): string {
  return (
    object.metadata.annotations?.['volume.beta.kubernetes.io/storage-class'] ??
    textAt(object, 'spec', 'storageClassName')
  );
}

function phaseOf(object: KubeObject): string {
  return object.metadata.deletionTimestamp ? 'Terminating' : textAt(object, 'status', 'phase');
}

const persistentVolume: Cells = (object, now) => {
  const claim = at(object, 'spec', 'claimRef');
  return [
    nameOf(object),
    scalarAt(object, '', 'spec', 'capacity', 'storage'),
    accessModes(textsAt(object, 'spec', 'accessModes')),
    textAt(object, 'spec', 'persistentVolumeReclaimPolicy'),
    phaseOf(object),
    claim ? `${textAt(claim, 'namespace')}/${textAt(claim, 'name')}` : '',
    storageClassOf(object),
    orElse(textAt(object, 'spec', 'volumeAttributesClassName'), UNSET),
    textAt(object, 'status', 'reason'),
    age(object, now),
    scalarAt(object, UNSET, 'spec', 'volumeMode'),
  ];
};

const persistentVolumeClaim: Cells = (object, now) => {
  const volume = textAt(object, 'spec', 'volumeName');
  return [
    nameOf(object),
    phaseOf(object),
    volume,
    volume === '' ? '' : scalarAt(object, '0', 'status', 'capacity', 'storage'),
    volume === '' ? '' : accessModes(textsAt(object, 'status', 'accessModes')),
    storageClassOf(object),
    orElse(textAt(object, 'spec', 'volumeAttributesClassName'), UNSET),
    age(object, now),
    scalarAt(object, UNSET, 'spec', 'volumeMode'),
  ];
};

function withDefault(object: KubeObject, ...annotations: string[]): string {
  return annotations.some((annotation) => object.metadata.annotations?.[annotation] === 'true')
    ? `${nameOf(object)} (default)`
    : nameOf(object);
}

const storageClass: Cells = (object, now) => [
  withDefault(
    object,
    'storageclass.kubernetes.io/is-default-class',
    'storageclass.beta.kubernetes.io/is-default-class',
  ),
  textAt(object, 'provisioner'),
  orElse(textAt(object, 'reclaimPolicy'), 'Delete'),
  orElse(textAt(object, 'volumeBindingMode'), 'Immediate'),
  flagAt(object, 'allowVolumeExpansion'),
  age(object, now),
];

const volumeAttributesClass: Cells = (object, now) => [
  nameOf(object),
  textAt(object, 'driverName'),
  age(object, now),
];

const volumeAttachment: Cells = (object, now) => [
  nameOf(object),
  textAt(object, 'spec', 'attacher'),
  textAt(object, 'spec', 'source', 'persistentVolumeName'),
  textAt(object, 'spec', 'nodeName'),
  flagAt(object, 'status', 'attached'),
  age(object, now),
];

const csiDriver: Cells = (object, now) => [
  nameOf(object),
  at(object, 'spec', 'attachRequired') !== false,
  flagAt(object, 'spec', 'podInfoOnMount'),
  flagAt(object, 'spec', 'storageCapacity'),
  orElse(
    objectsAt(object, 'spec', 'tokenRequests')
      .map((item) => textAt(item, 'audience'))
      .join(','),
    UNSET,
  ),
  flagAt(object, 'spec', 'requiresRepublish'),
  orElse(textsAt(object, 'spec', 'volumeLifecycleModes').join(','), '<none>'),
  age(object, now),
];

const csiNode: Cells = (object, now) => [
  nameOf(object),
  listAt(object, 'spec', 'drivers').length,
  age(object, now),
];

export const STORAGE_CELLS: Readonly<Record<string, Cells>> = {
  '/persistentvolumeclaims': persistentVolumeClaim,
  '/persistentvolumes': persistentVolume,
  'storage.k8s.io/csidrivers': csiDriver,
  'storage.k8s.io/csinodes': csiNode,
  'storage.k8s.io/storageclasses': storageClass,
  'storage.k8s.io/volumeattachments': volumeAttachment,
  'storage.k8s.io/volumeattributesclasses': volumeAttributesClass,
};
