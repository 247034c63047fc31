import { isObject, type JsonObject, objectAt } from '../../schema/json.ts';
import { validateDns1123Label } from '../../schema/names.ts';
import type { Problems } from './field-checks.ts';
import { duplicate, forbidden, invalidEach, invalidValue, required } from './field-errors.ts';
import { integer, objectsOf, text } from './fields.ts';

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

/** Checks the volumes of a pod spec and tells the names of those that are in order. */
export function validateVolumes(spec: JsonObject, path: string): { problems: Problems; names: Set<string> } {
  const problems: Problems = [];
  const names = new Set<string>();
  for (const [index, volume] of objectsOf(spec, 'volumes').entries()) {
    const at = `${path}[${index}]`;
    const name = text(volume, 'name');
    const own = sourceProblems(volume, at);
    if (name === '') own.push(required(`${at}.name`));
    else {
      own.push(...invalidEach(`${at}.name`, name, validateDns1123Label(name)));
      if (names.has(name)) own.push(duplicate(`${at}.name`, name));
    }
    // Only a volume that is in order can be mounted.
    if (own.length === 0) names.add(name);
    problems.push(...own);
  }
  return { problems, names };
}

function sourceProblems(volume: JsonObject, at: string): Problems {
  const problems: Problems = [];
  const sources = Object.keys(volume).filter((key) => key !== 'name' && isObject(volume[key]));
  if (sources.length === 0) return [required(at, 'must specify a volume type')];
  // The order of the API's fields decides which is one too many; emptyDir and hostPath come first.
  const order = ['emptyDir', 'hostPath'];
  sources.sort((a, b) => rank(order, a) - rank(order, b));
  for (const extra of sources.slice(1)) {
    problems.push(forbidden(`${at}.${extra}`, 'may not specify more than 1 volume type'));
  }
  const kind = sources[0] ?? '';
  const source = objectAt(volume, kind);
  const path = `${at}.${kind}`;
  switch (kind) {
    case 'hostPath': {
      const given = text(source, 'path');
      if (given === '') problems.push(required(`${path}.path`));
      else if (given.split('/').includes('..')) {
        problems.push(invalidValue(`${path}.path`, given, "must not contain '..'"));
      }
      if (!HOST_PATH_TYPES.includes(text(source, 'type'))) {
        problems.push({
          type: 'NotSupported',
          path: `${path}.type`,
          value: text(source, 'type'),
          detail: '',
          supported: HOST_PATH_TYPES,
        });
      }
      break;
    }
    case 'secret':
      if (text(source, 'secretName') === '') problems.push(required(`${path}.secretName`));
      problems.push(...fileProblems(source, path));
      break;
    case 'configMap':
      if (text(source, 'name') === '') problems.push(required(`${path}.name`));
      problems.push(...fileProblems(source, path));
      break;
    case 'persistentVolumeClaim':
      if (text(source, 'claimName') === '') problems.push(required(`${path}.claimName`));
      break;
    case 'nfs':
      if (text(source, 'server') === '') problems.push(required(`${path}.server`));
      if (text(source, 'path') === '') problems.push(required(`${path}.path`));
      else if (!text(source, 'path').startsWith('/')) {
        problems.push(invalidValue(`${path}.path`, text(source, 'path'), 'must be an absolute path'));
      }
      break;
    case 'csi':
      if (text(source, 'driver') === '') problems.push(required(`${path}.driver`));
      break;
  }
  return problems;
}

function rank(order: readonly string[], key: string): number {
  const index = order.indexOf(key);
  return index < 0 ? order.length : index;
}

function fileProblems(source: JsonObject | undefined, path: string): Problems {
  const problems: Problems = [];
  const mode = integer(source, 'defaultMode');
  if (mode !== undefined && (mode < 0 || mode > 0o777))
    problems.push(modeProblem(`${path}.defaultMode`, mode));
  for (const [index, item] of objectsOf(source, 'items').entries()) {
    const at = `${path}.items[${index}]`;
    if (text(item, 'key') === '') problems.push(required(`${at}.key`));
    const target = text(item, 'path');
    if (target === '') problems.push(required(`${at}.path`));
    else if (target.startsWith('/')) {
      problems.push(invalidValue(`${at}.path`, target, 'must be a relative path'));
    } else if (target.split('/').includes('..')) {
      problems.push(invalidValue(`${at}.path`, target, "must not contain '..'"));
    }
    const itemMode = integer(item, 'mode');
    if (itemMode !== undefined && (itemMode < 0 || itemMode > 0o777)) {
      problems.push(modeProblem(`${at}.mode`, itemMode));
    }
  }
  return problems;
}

function modeProblem(path: string, mode: number): Problems[number] {
  return invalidValue(path, mode, 'must be a number between 0 and 0777 (octal), both inclusive');
}
