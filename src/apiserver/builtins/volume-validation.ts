import { isObject, type JsonObject, objectAt, stringsAt } from '../../schema/json.ts';
import {
  validateAnnotations,
  validateDns1123Label,
  validateDns1123Subdomain,
  validateLabels,
} from '../../schema/names.ts';
import { validateClaimSpec } from './claim-validation.ts';
import { divisorProblem, RESOURCE_FIELDS } from './downward-fields.ts';
import type { Problems } from './field-checks.ts';
import { duplicate, forbidden, invalidEach, invalidValue, notSupported, required } from './field-errors.ts';
import { integer, isSet, objectsOf, text } from './fields.ts';
import { notNegativeQuantity } from './resource-list.ts';
import { driverName, noBacksteps, type SourceCheck, validateSources } from './volume-sources.ts';

const NOT_SOURCES: ReadonlySet<string> = new Set(['name']);
const TOKEN_SECONDS = { least: 600, most: 2 ** 32 };

/** Checks the volumes of a pod spec and tells the names of those that are in order, each with its kind of source. */
export function validateVolumes(
  spec: JsonObject,
  path: string,
): { problems: Problems; names: Map<string, string> } {
  const problems: Problems = [];
  const names = new Map<string, string>();
  const seen = new Set<string>();
  for (const [index, volume] of objectsOf(spec, 'volumes').entries()) {
    const at = `${path}[${index}]`;
    const name = text(volume, 'name');
    const own = validateSources(volume, at, NOT_SOURCES, CHECKS);
    if (name === '') own.push(required(`${at}.name`));
    else {
      own.push(...invalidEach(`${at}.name`, name, validateDns1123Label(name)));
      if (seen.has(name)) own.push(duplicate(`${at}.name`, name));
      seen.add(name);
    }
    // Only a volume that is in order can be mounted.
    if (own.length === 0) names.set(name, Object.keys(volume).find((key) => isObject(volume[key])) ?? '');
    problems.push(...own);
  }
  return { problems, names };
}

/** Sources that only pods have, or check in their own way. */
const CHECKS: Readonly<Record<string, SourceCheck>> = {
  emptyDir(source, path) {
    const limit = source.sizeLimit;
    return limit !== undefined && limit !== null && notNegativeQuantity(limit, path).length > 0
      ? [forbidden(`${path}.sizeLimit`, 'SizeLimit field must be a valid resource quantity')]
      : [];
  },
  secret: (source, path) => [
    ...(text(source, 'secretName') === '' ? [required(`${path}.secretName`)] : []),
    ...fileProblems(source, path),
  ],
  configMap: (source, path) => [
    ...(text(source, 'name') === '' ? [required(`${path}.name`)] : []),
    ...fileProblems(source, path),
  ],
  downwardAPI: (source, path) => [
    ...modeProblems(source, path, 'defaultMode'),
    ...objectsOf(source, 'items').flatMap((item) => downwardProblems(item, path)),
  ],
  projected: projectedProblems,
  csi(source, path) {
    const problems = driverName(text(source, 'driver'), `${path}.driver`);
    const ref = objectAt(source, 'nodePublishSecretRef');
    if (ref === undefined) return problems;
    const name = text(ref, 'name');
    if (name === '') problems.push(required(`${path}.nodePublishSecretRef.name`));
    else problems.push(...invalidEach(`${path}.name`, name, validateDns1123Subdomain(name)));
    return problems;
  },
  ephemeral: ephemeralProblems,
};

function fileProblems(source: JsonObject, path: string): Problems {
  return [
    ...modeProblems(source, path, 'defaultMode'),
    ...objectsOf(source, 'items').flatMap((item, index) => itemProblems(item, `${path}.items[${index}]`)),
  ];
}

function itemProblems(item: JsonObject, path: string): Problems {
  const problems: Problems = text(item, 'key') === '' ? [required(`${path}.key`)] : [];
  problems.push(...targetProblems(text(item, 'path'), `${path}.path`), ...modeProblems(item, path, 'mode'));
  return problems;
}

/** Where in a volume a file goes. */
function targetProblems(target: string, path: string): Problems {
  if (target === '') return [required(path)];
  const problems: Problems = target.startsWith('/')
    ? [invalidValue(path, target, 'must be a relative path')]
    : [];
  problems.push(...noBacksteps(target, path));
  if (problems.length === 0 && target.startsWith('..')) {
    problems.push(invalidValue(path, target, "must not start with '..'"));
  }
  return problems;
}

function modeProblems(source: JsonObject, path: string, key: string): Problems {
  const mode = integer(source, key);
  return mode !== undefined && (mode < 0 || mode > 0o777)
    ? [invalidValue(`${path}.${key}`, mode, 'must be a number between 0 and 0777 (octal), both inclusive')]
    : [];
}

const FILE_FIELDS = [
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
];

/** A file of the downward API. Its path in messages is that of the whole source. */
function downwardProblems(item: JsonObject, path: string): Problems {
  const problems = targetProblems(text(item, 'path'), `${path}.path`);
  const field = objectAt(item, 'fieldRef');
  const resource = objectAt(item, 'resourceFieldRef');
  if (field) {
    problems.push(...fieldProblems(field, `${path}.fieldRef`));
    if (resource) {
      const detail = 'fieldRef and resourceFieldRef can not be specified simultaneously';
      problems.push(invalidValue(path, 'resource', detail));
    }
  } else if (resource) problems.push(...resourceProblems(resource, `${path}.resourceFieldRef`));
  else problems.push(required(path, 'one of fieldRef and resourceFieldRef is required'));
  return [...problems, ...modeProblems(item, path, 'mode')];
}

function fieldProblems(ref: JsonObject, path: string): Problems {
  const at = `${path}.fieldPath`;
  if (text(ref, 'apiVersion') === '') return [required(`${path}.apiVersion`)];
  const field = text(ref, 'fieldPath');
  if (field === '') return [required(at)];
  if (text(ref, 'apiVersion') !== 'v1') {
    const detail = `error converting fieldPath: unsupported pod version: ${text(ref, 'apiVersion')}`;
    return [invalidValue(at, field, detail)];
  }
  if (FILE_FIELDS.includes(field) || /^metadata\.(labels|annotations)\['[^']+'\]$/.test(field)) return [];
  return /^(spec|status)\./.test(field)
    ? [notSupported(at, field, FILE_FIELDS)]
    : [invalidValue(at, field, `error converting fieldPath: field label not supported: ${field}`)];
}

function resourceProblems(ref: JsonObject, path: string): Problems {
  const resource = text(ref, 'resource');
  if (text(ref, 'containerName') === '') return [required(`${path}.containerName`)];
  if (resource === '') return [required(`${path}.resource`)];
  if (!RESOURCE_FIELDS.includes(resource) && !/^(limits|requests)\.hugepages-/.test(resource)) {
    return [notSupported(`${path}.resource`, resource, RESOURCE_FIELDS)];
  }
  return divisorProblem(resource, ref.divisor, `${path}.divisor`);
}

const PROJECTIONS = ['secret', 'configMap', 'downwardAPI', 'serviceAccountToken', 'clusterTrustBundle'];

function projectedProblems(projected: JsonObject, path: string): Problems {
  const problems = modeProblems(projected, path, 'defaultMode');
  const paths = new Set<string>();
  // What is shown is where the files are from, as far as that has a name.
  const claim = (target: string, shown: string = target): void => {
    if (target === '') return;
    if (paths.has(target)) problems.push(invalidValue(path, shown, 'conflicting duplicate paths'));
    paths.add(target);
  };
  for (const [index, source] of objectsOf(projected, 'sources').entries()) {
    const at = `${path}.sources[${index}]`;
    const given = PROJECTIONS.filter((key) => isObject(source[key]));
    for (const key of ['secret', 'configMap']) {
      const files = objectAt(source, key);
      if (!files) continue;
      if (text(files, 'name') === '') problems.push(required(`${at}.${key}.name`));
      for (const [i, item] of objectsOf(files, 'items').entries()) {
        problems.push(...itemProblems(item, `${at}.${key}.items[${i}]`));
        claim(text(item, 'path'), text(files, 'name'));
      }
    }
    for (const item of objectsOf(objectAt(source, 'downwardAPI'), 'items')) {
      problems.push(...downwardProblems(item, `${at}.downwardAPI`));
      claim(text(item, 'path'));
    }
    const token = objectAt(source, 'serviceAccountToken');
    if (token) {
      problems.push(...tokenProblems(token, `${at}.serviceAccountToken`, path));
      claim(text(token, 'path'));
    }
    if (given.length > 1) {
      problems.push(forbidden(at, 'may not specify more than 1 volume type per source'));
    }
  }
  return problems;
}

function tokenProblems(token: JsonObject, path: string, projected: string): Problems {
  const problems: Problems = [];
  const seconds = integer(token, 'expirationSeconds');
  if (seconds !== undefined && seconds < TOKEN_SECONDS.least) {
    const detail = 'may not specify a duration less than 10 minutes';
    problems.push(invalidValue(`${path}.expirationSeconds`, seconds, detail));
  }
  if (seconds !== undefined && seconds > TOKEN_SECONDS.most) {
    const detail = 'may not specify a duration larger than 2^32 seconds';
    problems.push(invalidValue(`${path}.expirationSeconds`, seconds, detail));
  }
  // The path of a token is missed in the volume, not in the token.
  const target = text(token, 'path');
  problems.push(...targetProblems(target, target === '' ? `${projected}.path` : `${path}.path`));
  return problems;
}

/** Metadata of a claim that is made for a pod: labels and annotations only, the rest is the pod's to decide. */
const OWN_METADATA: ReadonlySet<string> = new Set(['labels', 'annotations']);

function ephemeralProblems(source: JsonObject, path: string): Problems {
  const template = objectAt(source, 'volumeClaimTemplate');
  const at = `${path}.volumeClaimTemplate`;
  if (template === undefined) return [required(at)];
  const metadata = objectAt(template, 'metadata');
  const problems: Problems = [
    ...validateLabels(stringsAt(metadata, 'labels'), `${at}.metadata.labels`),
    ...validateAnnotations(stringsAt(metadata, 'annotations'), `${at}.metadata.annotations`),
  ];
  for (const key in metadata) {
    if (OWN_METADATA.has(key) || !isSet(metadata[key])) continue;
    problems.push(forbidden(`${at}.metadata.${key === 'uid' ? 'uID' : key}`, 'cannot be set'));
  }
  return [...problems, ...validateClaimSpec(objectAt(template, 'spec') ?? {}, `${at}.spec`)];
}
