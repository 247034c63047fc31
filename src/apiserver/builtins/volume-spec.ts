import { posix } from 'node:path';
import { isObject, type JsonObject, objectAt } from '../../schema/json.ts';
import { validateDns1123Label } from '../../schema/names.ts';
import { accessModeProblems, capacityProblems, classNameProblems, VOLUME_MODES } from './claim-validation.ts';
import { dns1123Label, dns1123Subdomain, oneOf, type Problems } from './field-checks.ts';
import { forbidden, invalidEach, invalidValue, notSupportedAs, required } from './field-errors.ts';
import { strings, text } from './fields.ts';
import { goDump, quantityDump } from './go-dump.ts';
import { validateNodeSelector } from './pod-placement.ts';
import {
  driverName,
  SOURCES as SHARED_SOURCES,
  type SourceCheck,
  validateSources,
} from './volume-sources.ts';

/** Fields of a volume's spec that are no sources. */
export const NOT_SOURCES: readonly string[] = [
  'accessModes',
  'capacity',
  'claimRef',
  'mountOptions',
  'nodeAffinity',
  'persistentVolumeReclaimPolicy',
  'storageClassName',
  'volumeAttributesClassName',
  'volumeMode',
];
const OTHERS: ReadonlySet<string> = new Set(NOT_SOURCES);

const INLINE = 'in the context of inline volumes';

/** What is wrong with a volume: one of its own, or one that is written where it is attached (`inline`). */
export function volumeSpecProblems(spec: JsonObject, path: string, inline: boolean = false): Problems {
  return [
    ...accessModeProblems(spec, path),
    ...(inline ? inlineProblems(spec, path) : ownProblems(spec, path)),
    ...validateSources(spec, path, OTHERS, SOURCES),
    ...recycledRootProblems(spec, path),
  ];
}

function ownProblems(spec: JsonObject, path: string): Problems {
  const problems: Problems = [];
  const capacity = objectAt(spec, 'capacity');
  const names = Object.keys(capacity ?? {});
  if (names.length === 0) problems.push(required(`${path}.capacity`));
  if (capacity?.storage === undefined || names.length > 1) {
    problems.push(notSupportedAs(`${path}.capacity`, amountsText(capacity), ['storage']));
  }
  for (const name of names) problems.push(...capacityProblems(capacity?.[name], `${path}.capacity[${name}]`));
  problems.push(
    ...oneOf(spec, path, 'persistentVolumeReclaimPolicy', ['Delete', 'Recycle', 'Retain']),
    ...oneOf(spec, path, 'volumeMode', VOLUME_MODES),
    ...classNameProblems(spec, `${path}.storageClassName`),
  );
  const affinity = objectAt(spec, 'nodeAffinity');
  const terms = objectAt(affinity, 'required');
  if (terms) problems.push(...validateNodeSelector(terms, `${path}.nodeAffinity.required`));
  else if (affinity) {
    problems.push(required(`${path}.nodeAffinity.required`, 'must specify required node constraints'));
  } else if (isObject(spec.local)) {
    problems.push(required(`${path}.nodeAffinity`, 'Local volume requires node affinity'));
  }
  return problems;
}

/** Where a volume has no object of its own, what only such an object has makes no sense. */
function inlineProblems(spec: JsonObject, path: string): Problems {
  const problems: Problems = [];
  for (const key of ['claimRef', 'capacity', 'nodeAffinity', 'storageClassName']) {
    const value = spec[key];
    if (isObject(value) ? key !== 'capacity' || Object.keys(value).length > 0 : text(spec, key) !== '')
      problems.push(forbidden(`${path}.${key}`, `may not be specified ${INLINE}`));
  }
  if (!isObject(spec.csi)) problems.push(required(`${path}.csi`, `has to be specified ${INLINE}`));
  for (const [key, only, why] of [
    ['persistentVolumeReclaimPolicy', 'Retain', 'may only be Retain'],
    ['volumeMode', 'Filesystem', 'may not specify volumeMode other than Filesystem'],
  ] as const) {
    const value = text(spec, key);
    if (value !== '' && value !== only) problems.push(forbidden(`${path}.${key}`, `${why} ${INLINE}`));
  }
  return problems;
}

function recycledRootProblems(spec: JsonObject, path: string): Problems {
  const hostPath = objectAt(spec, 'hostPath');
  return text(spec, 'persistentVolumeReclaimPolicy') === 'Recycle' &&
    hostPath !== undefined &&
    posix.normalize(text(hostPath, 'path')) === '/'
    ? [forbidden(`${path}.persistentVolumeReclaimPolicy`, "may not be 'recycle' for a hostPath mount of '/'")]
    : [];
}

/** Amounts as messages show them once somebody has asked for their texts. */
function amountsText(amounts: JsonObject | undefined): string {
  if (amounts === undefined) return goDump('core.ResourceList', undefined);
  const texts = Object.keys(amounts)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${quantityDump(amounts[name], String(amounts[name]))}`);
  return `core.ResourceList{${texts.join(', ')}}`;
}

/** A secret in a namespace, both of which must be named. */
function secretReference(source: JsonObject, path: string, key: string = 'secretRef'): Problems {
  const ref = objectAt(source, key);
  return ref === undefined
    ? []
    : ['name', 'namespace']
        .filter((part) => text(ref, part) === '')
        .map((part) => required(`${path}.${key}.${part}`));
}

/** The shared checks of a source, but for what they say of its secret. */
function shared(kind: string): SourceCheck {
  return (source, path) =>
    (SHARED_SOURCES[kind]?.(source, path) ?? []).filter((problem) => !problem.path.includes('.secretRef.'));
}

const DRIVER_SECRETS = [
  'controllerPublishSecretRef',
  'controllerExpandSecretRef',
  'nodePublishSecretRef',
  'nodeExpandSecretRef',
];

/** Sources of a volume that differ from those of pods: they name secrets with their namespaces. */
const SOURCES: Readonly<Record<string, SourceCheck>> = {
  // What does not even begin like such a name is told of in fewer words.
  iscsi(source, path) {
    const names: Readonly<Record<string, string>> = {
      [`${path}.iqn`]: text(source, 'iqn'),
      [`${path}.initiatorname`]: text(source, 'initiatorName'),
    };
    const problems = (SHARED_SOURCES.iscsi?.(source, path) ?? []).map((problem) =>
      problem.type === 'Invalid' &&
      names[problem.path] !== undefined &&
      !/^(iqn|eui|naa)/.test(names[problem.path] ?? '')
        ? { ...problem, detail: 'must be valid format' }
        : problem,
    );
    const secret = objectAt(source, 'secretRef');
    return secret && text(secret, 'name') === ''
      ? [...problems, required(`${path}.secretRef.name`)]
      : problems;
  },
  local(source, path) {
    const at = `${path}.path`;
    const given = text(source, 'path');
    if (given === '') return [required(at)];
    return given.split('/').includes('..') ? [invalidValue(at, given, "must not contain '..'")] : [];
  },
  fc(source, path) {
    const problems = SHARED_SOURCES.fc?.(source, path) ?? [];
    // Told of with whatever else is wrong with the names.
    const both = strings(source, 'targetWWNs').length > 0 && strings(source, 'wwids').length > 0;
    if (both && source.lun == null)
      problems.push(required(`${path}.lun`, 'lun is required if targetWWNs is specified'));
    return problems;
  },
  azureFile(source, path) {
    const problems = SHARED_SOURCES.azureFile?.(source, path) ?? [];
    if (source.secretNamespace === '') problems.push(required(`${path}.secretNamespace`));
    return problems;
  },
  glusterfs(source, path) {
    const problems = SHARED_SOURCES.glusterfs?.(source, path) ?? [];
    const namespace = source.endpointsNamespace;
    if (typeof namespace === 'string' && validateDns1123Label(namespace).length > 0) {
      const why = 'if the endpointnamespace is set, it must be a valid namespace name';
      problems.push(...invalidEach(`${path}.endpointsNamespace`, namespace, [why]));
    }
    return problems;
  },
  cinder: (source, path) => [...shared('cinder')(source, path), ...secretReference(source, path)],
  storageos: (source, path) => [...shared('storageos')(source, path), ...secretReference(source, path)],
  csi(source, path) {
    const problems = driverName(text(source, 'driver'), `${path}.driver`);
    if (text(source, 'volumeHandle') === '') problems.push(required(`${path}.volumeHandle`));
    for (const key of DRIVER_SECRETS) {
      const ref = objectAt(source, key);
      if (ref === undefined) continue;
      const at = `${path}.${key}`;
      const name = text(ref, 'name');
      const namespace = text(ref, 'namespace');
      problems.push(
        ...secretReference(source, path, key),
        ...(name === '' ? [] : dns1123Subdomain(name, `${at}.name`)),
        ...(namespace === '' ? [] : dns1123Label(namespace, `${at}.namespace`)),
      );
    }
    return problems;
  },
};
