import { isObject, type JsonObject, listAt } from '../../../schema/json.ts';
import { seccompFinding } from './baseline-checks.ts';
import type { Check, Finding } from './checks.ts';
import {
  nameOf,
  type PodParts,
  plural,
  quoted,
  securityOf,
  settersOf,
  setterText,
  some,
  sorted,
} from './pod-parts.ts';

/** The release since which pods of Windows need not set what only Linux has. */
const WINDOWS_EXEMPT = 25;

const ALLOWED_VOLUMES: ReadonlySet<string> = new Set([
  ...['configMap', 'csi', 'downwardAPI', 'emptyDir', 'ephemeral', 'persistentVolumeClaim'],
  ...['projected', 'secret'],
]);

export const RESTRICTED_CHECKS: readonly Check[] = [
  {
    name: 'allowPrivilegeEscalation',
    since: 8,
    find({ containers, windows }, minor) {
      if (windows && minor >= WINDOWS_EXEMPT) return undefined;
      const names = containers
        .filter((part) => securityOf(part, 'allowPrivilegeEscalation') !== false)
        .map(nameOf);
      if (names.length === 0) return undefined;
      return {
        reason: 'allowPrivilegeEscalation != false',
        detail: `${some('container', names)} must set securityContext.allowPrivilegeEscalation=false`,
      };
    },
  },
  {
    name: 'capabilities_restricted',
    since: 22,
    replaces: 'capabilities_baseline',
    find: capabilities,
  },
  { name: 'restrictedVolumes', replaces: 'hostPathVolumes', find: volumes },
  { name: 'runAsNonRoot', find: runAsNonRoot },
  {
    name: 'runAsUser',
    since: 23,
    find(parts) {
      const wrong = settersOf(parts, ['runAsUser'], (user) => Number(user) === 0);
      return wrong && { reason: 'runAsUser=0', detail: `${wrong.text} must not set runAsUser=0` };
    },
  },
  {
    name: 'seccompProfile_restricted',
    since: 19,
    replaces: 'seccompProfile_baseline',
    find: seccomp,
  },
];

function capabilities({ containers, windows }: PodParts, minor: number): Finding | undefined {
  if (windows && minor >= WINDOWS_EXEMPT) return undefined;
  const list = (part: JsonObject, key: string): string[] =>
    listAt(part, 'securityContext', 'capabilities', key).map(String);
  const added = (part: JsonObject): string[] =>
    list(part, 'add').filter((name) => name !== 'NET_BIND_SERVICE');
  const keeping = containers.filter((part) => !list(part, 'drop').includes('ALL')).map(nameOf);
  const adding = containers.filter((part) => added(part).length > 0);
  const details: string[] = [];
  if (keeping.length > 0)
    details.push(`${some('container', keeping)} must set securityContext.capabilities.drop=["ALL"]`);
  if (adding.length > 0)
    details.push(
      `${some('container', adding.map(nameOf))} must not include ${quoted(sorted(adding.flatMap(added)))} in securityContext.capabilities.add`,
    );
  return details.length === 0
    ? undefined
    : { reason: 'unrestricted capabilities', detail: details.join('; ') };
}

function volumes({ spec }: PodParts): Finding | undefined {
  const sources = (volume: JsonObject): string[] =>
    Object.keys(volume).filter((key) => key !== 'name' && isObject(volume[key]));
  const wrong = listAt(spec, 'volumes')
    .filter(isObject)
    .filter((volume) => !sources(volume).some((source) => ALLOWED_VOLUMES.has(source)));
  if (wrong.length === 0) return undefined;
  const types = sorted(wrong.map((volume) => sources(volume)[0] ?? 'unknown'));
  const use = plural('uses', wrong, 'use');
  return {
    reason: 'restricted volume types',
    detail: `${some('volume', wrong.map(nameOf))} ${use} ${plural('restricted volume type', types)} ${quoted(types)}`,
  };
}

function runAsNonRoot(parts: PodParts): Finding | undefined {
  const reason = 'runAsNonRoot != true';
  const ofPod = securityOf(parts.spec, 'runAsNonRoot');
  const unset = parts.containers.filter((part) => securityOf(part, 'runAsNonRoot') === undefined).map(nameOf);
  const refusing = parts.containers.filter((part) => securityOf(part, 'runAsNonRoot') === false).map(nameOf);
  const wrong = setterText(ofPod === false, refusing);
  if (wrong !== '') return { reason, detail: `${wrong} must not set securityContext.runAsNonRoot=false` };
  if (ofPod === true || unset.length === 0) return undefined;
  return { reason, detail: `pod or ${some('container', unset)} must set securityContext.runAsNonRoot=true` };
}

function seccomp(parts: PodParts, minor: number): Finding | undefined {
  if (parts.windows && minor >= WINDOWS_EXEMPT) return undefined;
  const path = ['seccompProfile', 'type'];
  const wrong = settersOf(parts, path, (type) => type !== 'RuntimeDefault' && type !== 'Localhost');
  if (wrong) return seccompFinding(wrong.text, sorted(wrong.values.map(String)));
  if (securityOf(parts.spec, ...path) !== undefined) return undefined;
  const unset = parts.containers.filter((part) => securityOf(part, ...path) === undefined).map(nameOf);
  if (unset.length === 0) return undefined;
  return {
    reason: 'seccompProfile',
    detail: `pod or ${some('container', unset)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`,
  };
}
