import { type JsonObject, objectAt } from '../../schema/json.ts';
import { oneOf, type Problems } from './field-checks.ts';
import { duplicate, invalidAs, invalidValue, required } from './field-errors.ts';
import { integer, objectsOf, strings, text } from './fields.ts';
import { goDump } from './go-dump.ts';
import { noBacksteps } from './volume-sources.ts';

const MAX_ID = 2147483647;
const SYSCTL = /^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$/;
const SYSCTL_LIMIT = 253;

/** Parameters that a pod which shares that with its node may not set. */
const SHARED_SYSCTLS: readonly (readonly [string, string])[] = [
  ['net.', 'hostNetwork'],
  ['kernel.shm', 'hostIPC'],
  ['kernel.msg', 'hostIPC'],
  ['kernel.sem', 'hostIPC'],
  ['fs.mqueue.', 'hostIPC'],
];

function sysctlProblems(spec: JsonObject, context: JsonObject | undefined, path: string): Problems {
  const problems: Problems = [];
  const names = new Set<string>();
  for (const [index, sysctl] of objectsOf(context, 'sysctls').entries()) {
    const at = `${path}.sysctls[${index}].name`;
    const name = text(sysctl, 'name');
    if (name === '') problems.push(required(at));
    else if (name.length > SYSCTL_LIMIT || !SYSCTL.test(name)) {
      problems.push(
        invalidValue(
          at,
          name,
          `must have at most ${SYSCTL_LIMIT} characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$`,
        ),
      );
    } else if (names.has(name)) problems.push(duplicate(at, name));
    names.add(name);
    const shared = SHARED_SYSCTLS.find(([prefix, field]) => name.startsWith(prefix) && spec[field] === true);
    if (shared) problems.push(invalidValue(at, name, `may not be specified when '${shared[1]}' is true`));
  }
  return problems;
}

/** Checks the security context of a pod, which is found at `path`. */
export function validatePodSecurity(
  spec: JsonObject,
  context: JsonObject | undefined,
  path: string,
): Problems {
  const problems = idProblems(context, path, 'runAsUser', 'runAsGroup', 'fsGroup');
  problems.push(
    ...validateProfiles(context, path),
    ...oneOf(context, path, 'fsGroupChangePolicy', ['Always', 'OnRootMismatch']),
    ...sysctlProblems(spec, context, path),
  );
  if (spec.shareProcessNamespace === true && spec.hostPID === true) {
    const detail = 'ShareProcessNamespace and HostPID cannot both be enabled';
    problems.push(invalidValue(`${path}.shareProcessNamespace`, true, detail));
  }
  const groups = context?.supplementalGroups;
  for (const [index, id] of (Array.isArray(groups) ? groups : []).entries()) {
    problems.push(
      ...idProblems({ [`supplementalGroups[${index}]`]: id }, path, `supplementalGroups[${index}]`),
    );
  }
  return problems;
}

/** Checks the security context of a container. */
export function validateContainerSecurity(container: JsonObject, at: string): Problems {
  const context = objectAt(container, 'securityContext');
  if (context === undefined) return [];
  const path = `${at}.securityContext`;
  const problems = idProblems(context, path, 'runAsUser', 'runAsGroup');
  problems.push(...validateProfiles(context, path));
  if (context.allowPrivilegeEscalation === false) {
    if (context.privileged === true) {
      problems.push(
        invalidAs(
          path,
          goDump('core.SecurityContext', context),
          'cannot set `allowPrivilegeEscalation` to false and `privileged` to true',
        ),
      );
    }
    if (strings(objectAt(context, 'capabilities'), 'add').some((item) => /^(CAP_)?SYS_ADMIN$/.test(item))) {
      problems.push(
        invalidAs(
          path,
          goDump('core.SecurityContext', context),
          'cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN',
        ),
      );
    }
  }
  return problems;
}

/** Profiles of system calls and of AppArmor, of a pod or of a container. */
export function validateProfiles(context: JsonObject | undefined, path: string): Problems {
  const problems: Problems = [];
  for (const [key, what, goType] of [
    ['seccompProfile', 'seccomp', 'core.SeccompProfile'],
    ['appArmorProfile', 'AppArmor', 'core.AppArmorProfile'],
  ] as const) {
    const profile = objectAt(context, key);
    if (profile === undefined) continue;
    const at = `${path}.${key}`;
    const type = text(profile, 'type');
    if (type === '') problems.push(required(`${at}.type`, `type is required when ${key} is set`));
    else problems.push(...oneOf(profile, at, 'type', ['Localhost', 'RuntimeDefault', 'Unconfined']));
    const local = profile.localhostProfile;
    const given = text(profile, 'localhostProfile');
    if (type === 'Localhost') {
      if (key === 'appArmorProfile' && given !== given.trim())
        problems.push(invalidValue(`${at}.localhostProfile`, given, 'must not be padded with whitespace'));
      else if (local === undefined || (key === 'appArmorProfile' && given === '')) {
        problems.push(required(`${at}.localhostProfile`, `must be set when ${what} type is Localhost`));
      } else if (key === 'seccompProfile') {
        problems.push(...localPathProblems(text(profile, 'localhostProfile'), `${at}.localhostProfile`));
      }
    } else if (local !== undefined) {
      problems.push(
        invalidAs(
          `${at}.localhostProfile`,
          key === 'seccompProfile' ? goDump(goType, profile) : JSON.stringify(local),
          `can only be set when ${what} type is Localhost`,
        ),
      );
    }
  }
  return problems;
}

/** A path below a directory of the node. */
function localPathProblems(value: string, path: string): Problems {
  if (value.startsWith('/')) return [invalidValue(path, value, 'must be a relative path')];
  return noBacksteps(value, path);
}

/** User and group ids. */
function idProblems(parent: JsonObject | undefined, path: string, ...keys: string[]): Problems {
  const problems: Problems = [];
  for (const key of keys) {
    const id = integer(parent, key);
    if (id !== undefined && (id < 0 || id > MAX_ID)) {
      problems.push(invalidValue(`${path}.${key}`, id, `must be between 0 and ${MAX_ID}, inclusive`));
    }
  }
  return problems;
}
