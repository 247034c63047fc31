import { type JsonObject, objectAt } from '../../schema/json.ts';
import type { Problems } from './field-checks.ts';
import { forbidden } from './field-errors.ts';
import { objectsOf } from './fields.ts';

const OF_POD: readonly string[] = ['hostPID', 'hostIPC', 'hostUsers', 'shareProcessNamespace'];
const OF_SECURITY: readonly string[] = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'fsGroup',
  'fsGroupChangePolicy',
  'sysctls',
  'runAsUser',
  'runAsGroup',
  'supplementalGroups',
  'supplementalGroupsPolicy',
];
const OF_CONTAINER: readonly string[] = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'capabilities',
  'readOnlyRootFilesystem',
  'privileged',
  'allowPrivilegeEscalation',
  'procMount',
  'runAsUser',
  'runAsGroup',
];

/** What a pod that says that it runs on Windows may not ask for: all that only Linux has. */
export function windowsProblems(spec: JsonObject, path: string): Problems {
  const problems: Problems = [];
  const refuse = (parent: JsonObject | undefined, at: string, keys: readonly string[]): void => {
    for (const key of keys) {
      const value = parent?.[key];
      const unset = value === undefined || value === null || (Array.isArray(value) && value.length === 0);
      // These two are not told apart from unset.
      if (unset || (value === false && (key === 'hostPID' || key === 'hostIPC'))) continue;
      problems.push(forbidden(`${at}.${key}`, 'cannot be set for a windows pod'));
    }
  };
  refuse(spec, path, OF_POD);
  refuse(objectAt(spec, 'securityContext'), `${path}.securityContext`, OF_SECURITY);
  for (const role of ['initContainers', 'containers', 'ephemeralContainers'])
    for (const [index, container] of objectsOf(spec, role).entries())
      refuse(
        objectAt(container, 'securityContext'),
        `${path}.${role}[${index}].securityContext`,
        OF_CONTAINER,
      );
  return problems;
}

/** And the other way round. */
export function linuxProblems(spec: JsonObject, path: string): Problems {
  const contexts = [
    [path, spec] as const,
    ...['initContainers', 'containers', 'ephemeralContainers'].flatMap((role) =>
      objectsOf(spec, role).map((container, index) => [`${path}.${role}[${index}]`, container] as const),
    ),
  ];
  return contexts
    .filter(([, holder]) => objectAt(holder, 'securityContext', 'windowsOptions') !== undefined)
    .map(([at]) =>
      forbidden(`${at}.securityContext.windowsOptions`, 'windows options cannot be set for a linux pod'),
    );
}
