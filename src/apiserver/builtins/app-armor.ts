import type { KubeObject } from '../../kube/object.ts';
import { deepEqual, type JsonObject, objectAt } from '../../schema/json.ts';
import { ensureObject, objectsOf, text } from './fields.ts';
import { validateProfiles } from './security-context.ts';

/** Names the profile of one container, in the way that was there before the field. */
const ANNOTATION = 'container.apparmor.security.beta.kubernetes.io/';
const LOCAL = 'localhost/';

/**
 * Older kubelets know AppArmor profiles by annotation only, so both ways are kept in step: a container that has a profile gets
 * the annotation, and one that is only annotated gets the field, as far as it can be read. Tells of annotations without a field.
 */
export function syncAppArmor(pod: KubeObject, warn: (text: string) => void): void {
  const spec = objectAt(pod, 'spec');
  if (spec === undefined || text(objectAt(spec, 'os'), 'name') === 'windows') return;
  const ofPod = objectAt(spec, 'securityContext', 'appArmorProfile');
  for (const role of ['initContainers', 'containers', 'ephemeralContainers']) {
    for (const container of objectsOf(spec, role)) {
      const key = `${ANNOTATION}${text(container, 'name')}`;
      const given = pod.metadata.annotations?.[key];
      const own = objectAt(container, 'securityContext', 'appArmorProfile');
      if (given === undefined) {
        const annotation = annotationOf(own ?? ofPod);
        if (annotation !== '') pod.metadata.annotations = { ...pod.metadata.annotations, [key]: annotation };
      } else if (own === undefined) {
        const profile = profileOf(given);
        const says = profile !== undefined && !deepEqual(profile, ofPod);
        if (says) ensureObject(container, 'securityContext').appArmorProfile = profile;
        if (says || profile === undefined) warn(deprecatedAppArmor('metadata', key));
      }
    }
  }
}

/** What is said of an annotation of the metadata at `path`. */
function deprecatedAppArmor(path: string, key: string): string {
  return `${path}.annotations[${key}]: deprecated since v1.30; use the "appArmorProfile" field instead`;
}

/** What is said of annotations of a pod, or of a template of pods at `path`, that fields have taken the place of. */
export function profileAnnotationWarnings(
  annotations: Readonly<Record<string, unknown>>,
  spec: JsonObject | undefined,
  path: string,
  isTemplate: boolean,
): string[] {
  const warnings: string[] = [];
  const seccomp = (key: string): void => {
    if (annotations[key] !== undefined)
      warnings.push(
        `${path}.annotations[${key}]: non-functional in v1.27+; use the "seccompProfile" field instead`,
      );
  };
  seccomp('seccomp.security.alpha.kubernetes.io/pod');
  for (const role of ['initContainers', 'containers', 'ephemeralContainers'])
    for (const container of objectsOf(spec, role)) {
      const name = text(container, 'name');
      seccomp(`container.seccomp.security.alpha.kubernetes.io/${name}`);
      const key = `${ANNOTATION}${name}`;
      if (isTemplate && annotations[key] !== undefined) warnings.push(deprecatedAppArmor(path, key));
    }
  return warnings;
}

function annotationOf(profile: JsonObject | undefined): string {
  switch (text(profile, 'type')) {
    case 'Unconfined':
      return 'unconfined';
    case 'RuntimeDefault':
      return 'runtime/default';
    case 'Localhost':
      return profile?.localhostProfile == null ? '' : `${LOCAL}${text(profile, 'localhostProfile')}`;
    default:
      return '';
  }
}

/** `undefined` for what can be no profile. */
function profileOf(annotation: string): JsonObject | undefined {
  if (annotation === 'unconfined') return { type: 'Unconfined' };
  if (annotation === 'runtime/default') return { type: 'RuntimeDefault' };
  if (!annotation.startsWith(LOCAL)) return undefined;
  const profile = { type: 'Localhost', localhostProfile: annotation.slice(LOCAL.length) };
  return validateProfiles({ appArmorProfile: profile }, '').length === 0 ? profile : undefined;
}
