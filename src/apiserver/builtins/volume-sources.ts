import { isObject, type JsonObject, objectAt } from '../../schema/json.ts';
import { validateDns1123Subdomain } from '../../schema/names.ts';
import { dns1123Label, oneOf, type Problems } from './field-checks.ts';
import { forbidden, invalidEach, invalidValue, notSupported, required, tooLong } from './field-errors.ts';
import { integer, strings, text } from './fields.ts';

/** Checks the contents of one source at its path. */
export type SourceCheck = (source: JsonObject, path: string) => Problems;

/** What of two sources is one too many: the first in this order is the one that counts. */
const ORDER: readonly string[] = [
  'emptyDir',
  'hostPath',
  'gitRepo',
  'gcePersistentDisk',
  'awsElasticBlockStore',
  'secret',
  'nfs',
  'iscsi',
  'glusterfs',
  'flocker',
  'persistentVolumeClaim',
  'rbd',
  'cinder',
  'cephfs',
  'quobyte',
  'downwardAPI',
  'configMap',
  'fc',
  'flexVolume',
  'azureFile',
  'vsphereVolume',
  'portworxVolume',
  'azureDisk',
  'storageos',
  'photonPersistentDisk',
  'projected',
  'scaleIO',
  'local',
  'csi',
  'ephemeral',
];

/** Names under which messages know a source, where it is not that of its field. */
const EXTRA_NAMES: Readonly<Record<string, string>> = { cephfs: 'cephFS', downwardAPI: 'downwarAPI' };
const CONTENT_NAMES: Readonly<Record<string, string>> = { gcePersistentDisk: 'persistentDisk' };

/** Exactly one source there must be; its contents are checked by `checks`, or as in pods and volumes alike. */
export function validateSources(
  holder: JsonObject,
  path: string,
  others: ReadonlySet<string>,
  checks: Readonly<Record<string, SourceCheck>>,
): Problems {
  const given = Object.keys(holder).filter((key) => !others.has(key) && isObject(holder[key]));
  if (given.length === 0) return [required(path, 'must specify a volume type')];
  given.sort((a, b) => rank(a) - rank(b));
  const [kind = '', ...extra] = given;
  const check = checks[kind] ?? SOURCES[kind];
  return [
    ...extra.map((key) =>
      forbidden(`${path}.${EXTRA_NAMES[key] ?? key}`, 'may not specify more than 1 volume type'),
    ),
    ...(check?.(objectAt(holder, kind) ?? {}, `${path}.${CONTENT_NAMES[kind] ?? kind}`) ?? []),
  ];
}

function rank(key: string): number {
  const at = ORDER.indexOf(key);
  return at < 0 ? ORDER.length : at;
}

function need(...keys: string[]): SourceCheck {
  return (source, path) =>
    keys
      .filter((key) => text(source, key) === '' && strings(source, key).length === 0)
      .map((key) => required(`${path}.${key}`));
}

/** A reference to a secret that, if given, names one. */
function namedSecret(source: JsonObject, path: string): Problems {
  const ref = objectAt(source, 'secretRef');
  return ref && text(ref, 'name') === '' ? [required(`${path}.secretRef.name`)] : [];
}

function partition(source: JsonObject, path: string): Problems {
  return within(source, path, 'partition', 0, 'must be between 1 and 255, inclusive');
}

function lun(source: JsonObject, path: string): Problems {
  return within(source, path, 'lun', 0, 'must be between 0 and 255, inclusive');
}

function within(source: JsonObject, path: string, key: string, least: number, detail: string): Problems {
  const value = integer(source, key);
  return value !== undefined && (value < least || value > 255)
    ? [invalidValue(`${path}.${key}`, value, detail)]
    : [];
}

const HOST_PATH_TYPES = [
  '',
  'BlockDevice',
  'CharDevice',
  'Directory',
  'DirectoryOrCreate',
  'File',
  'FileOrCreate',
  'Socket',
];

/** A path that does not lead out of where it begins. */
export function noBacksteps(value: string, path: string): Problems {
  return value.split('/').includes('..') ? [invalidValue(path, value, "must not contain '..'")] : [];
}

const DRIVER_NAME_LIMIT = 63;

/** The name of a CSI driver. */
export function driverName(name: string, path: string): Problems {
  const problems: Problems = name === '' ? [required(path)] : [];
  if (name.length > DRIVER_NAME_LIMIT) problems.push(tooLong(path, DRIVER_NAME_LIMIT));
  return [...problems, ...invalidEach(path, name, validateDns1123Subdomain(name.toLowerCase()))];
}

function isReservedOption(key: string): boolean {
  const domain = `.${(key.includes('/') ? key.slice(0, key.indexOf('/')) : key).toLowerCase()}`;
  return domain.endsWith('.kubernetes.io') || domain.endsWith('.k8s.io');
}

const BLOB_URI = 'https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd';
const MANAGED_URI =
  '/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}';
const ISCSI_NAME = /^(iqn\.\d{4}-\d\d\.[-.a-zA-Z0-9]+(:.+)?|eui\.[0-9A-Fa-f]{16}|naa\.[0-9A-Fa-f]{16,32})$/;
const ISCSI_FORMAT = 'must be valid format starting with iqn, eui, or naa';
const QUOBYTE_REGISTRY = 'must be a host:port pair or multiple pairs separated by commas';

/** Checks of sources that pods and volumes have alike. */
export const SOURCES: Readonly<Record<string, SourceCheck>> = {
  hostPath(source, path) {
    const given = text(source, 'path');
    if (given === '') return [required(`${path}.path`)];
    return [...noBacksteps(given, `${path}.path`), ...oneOf(source, path, 'type', HOST_PATH_TYPES)];
  },
  gitRepo: (source, path) => [
    ...need('repository')(source, path),
    ...noBacksteps(text(source, 'directory'), `${path}.directory`),
  ],
  gcePersistentDisk: (source, path) => [...need('pdName')(source, path), ...partition(source, path)],
  awsElasticBlockStore: (source, path) => [...need('volumeID')(source, path), ...partition(source, path)],
  nfs(source, path) {
    const problems = need('server', 'path')(source, path);
    const given = text(source, 'path');
    if (!given.startsWith('/'))
      problems.push(invalidValue(`${path}.path`, given, 'must be an absolute path'));
    return problems;
  },
  iscsi(source, path) {
    const problems = need('targetPortal', 'iqn')(source, path);
    const iqn = text(source, 'iqn');
    if (iqn !== '' && !ISCSI_NAME.test(iqn)) problems.push(invalidValue(`${path}.iqn`, iqn, ISCSI_FORMAT));
    problems.push(...lun(source, path));
    const chap = source.discoveryCHAPAuth === true || source.chapAuthDiscovery === true;
    if ((chap || source.chapAuthSession === true) && !isObject(source.secretRef)) {
      problems.push(required(`${path}.secretRef`));
    }
    const initiator = source.initiatorName;
    if (typeof initiator === 'string' && !ISCSI_NAME.test(initiator)) {
      problems.push(invalidValue(`${path}.initiatorname`, initiator, ISCSI_FORMAT));
    }
    return problems;
  },
  glusterfs: need('endpoints', 'path'),
  flocker(source, path) {
    const name = text(source, 'datasetName');
    const id = text(source, 'datasetUUID');
    if (name === '' && id === '') {
      return [required(path, 'one of datasetName and datasetUUID is required')];
    }
    const problems: Problems =
      name !== '' && id !== ''
        ? [invalidValue(path, 'resource', 'datasetName and datasetUUID can not be specified simultaneously')]
        : [];
    if (name.includes('/')) {
      problems.push(invalidValue(`${path}.datasetName`, name, "must not contain '/'"));
    }
    return problems;
  },
  persistentVolumeClaim: need('claimName'),
  rbd: need('monitors', 'image'),
  cinder: (source, path) => [...need('volumeID')(source, path), ...namedSecret(source, path)],
  cephfs: need('monitors'),
  quobyte(source, path) {
    const problems: Problems = [];
    const registry = text(source, 'registry');
    if (registry === '') problems.push(required(`${path}.registry`, QUOBYTE_REGISTRY));
    else if (!registry.split(',').every((pair) => /^[^:]+:[^:]+$/.test(pair))) {
      problems.push(invalidValue(`${path}.registry`, registry, QUOBYTE_REGISTRY));
    }
    if (text(source, 'tenant').length >= 65) {
      problems.push(
        required(`${path}.tenant`, 'must be a UUID and may not exceed a length of 64 characters'),
      );
    }
    return [...problems, ...need('volume')(source, path)];
  },
  fc(source, path) {
    const names = strings(source, 'targetWWNs');
    const ids = strings(source, 'wwids');
    if (names.length > 0 && ids.length > 0) {
      const detail = 'targetWWNs and wwids can not be specified simultaneously';
      return [invalidValue(`${path}.targetWWNs`, names, detail)];
    }
    const problems: Problems =
      names.length === 0 && ids.length === 0
        ? [required(`${path}.targetWWNs`, 'must specify either targetWWNs or wwids, but not both')]
        : [];
    if (names.length > 0 && integer(source, 'lun') === undefined) {
      problems.push(required(`${path}.lun`, 'lun is required if targetWWNs is specified'));
    }
    return [...problems, ...lun(source, path)];
  },
  flexVolume: (source, path) => [
    ...need('driver')(source, path),
    ...Object.keys(objectAt(source, 'options') ?? {})
      .filter(isReservedOption)
      .map((key) =>
        invalidValue(`${path}.options[${key}]`, key, 'kubernetes.io and k8s.io namespaces are reserved'),
      ),
  ],
  azureFile: need('secretName', 'shareName'),
  vsphereVolume: need('volumePath'),
  portworxVolume: need('volumeID'),
  azureDisk(source, path) {
    const problems = need('diskName', 'diskURI')(source, path);
    problems.push(...oneOf(source, path, 'cachingMode', ['None', 'ReadOnly', 'ReadWrite']));
    problems.push(...oneOf(source, path, 'kind', ['Dedicated', 'Managed', 'Shared']));
    const uri = text(source, 'diskURI');
    const managed = text(source, 'kind') === 'Managed';
    if (managed && !uri.startsWith('/subscriptions')) {
      problems.push(notSupported(`${path}.diskURI`, uri, [MANAGED_URI]));
    }
    if (!managed && !uri.startsWith('https://')) {
      problems.push(notSupported(`${path}.diskURI`, uri, [BLOB_URI]));
    }
    return problems;
  },
  storageos(source, path) {
    const problems = need('volumeName')(source, path);
    for (const key of ['volumeName', 'volumeNamespace']) {
      const name = text(source, key);
      if (name !== '') problems.push(...dns1123Label(name, `${path}.${key}`));
    }
    return [...problems, ...namedSecret(source, path)];
  },
  photonPersistentDisk: need('pdID'),
  scaleIO: need('gateway', 'system', 'volumeName'),
  local: need('path'),
  csi: (source, path) => driverName(text(source, 'driver'), `${path}.driver`),
};
