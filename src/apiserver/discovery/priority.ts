/** How far in front a built-in group is listed; groups of CustomResourceDefinitions come behind all of these. */
const GROUP_PRIORITY: Readonly<Record<string, number>> = {
  '': 18_000,
  'apiregistration.k8s.io': 18_000,
  apps: 17_800,
  'events.k8s.io': 17_750,
  'authentication.k8s.io': 17_700,
  'authorization.k8s.io': 17_600,
  autoscaling: 17_500,
  batch: 17_400,
  'certificates.k8s.io': 17_300,
  'networking.k8s.io': 17_200,
  policy: 17_100,
  'rbac.authorization.k8s.io': 17_000,
  'storage.k8s.io': 16_800,
  'admissionregistration.k8s.io': 16_700,
  'apiextensions.k8s.io': 16_700,
  'scheduling.k8s.io': 16_600,
  'coordination.k8s.io': 16_500,
  'node.k8s.io': 16_300,
  'discovery.k8s.io': 16_200,
  'flowcontrol.apiserver.k8s.io': 16_100,
};
const CUSTOM_GROUP_PRIORITY = 1000;

/** Where a group has several versions or differs from the others, how far in front a version is. */
const VERSION_PRIORITY: Readonly<Record<string, number>> = {
  '/v1': 1,
  'autoscaling/v2': 30,
  'flowcontrol.apiserver.k8s.io/v1': 21,
};

/** The priorities that the APIService of a group version shows. */
export function servicePriorities(
  group: string,
  version: string,
  custom: boolean,
): { groupPriorityMinimum: number; versionPriority: number } {
  const built = GROUP_PRIORITY[group];
  if (custom || built === undefined)
    return { groupPriorityMinimum: CUSTOM_GROUP_PRIORITY, versionPriority: 100 };
  const stable = parseVersion(version)?.[1] === 2;
  return {
    groupPriorityMinimum: built,
    versionPriority: VERSION_PRIORITY[`${group}/${version}`] ?? (stable ? 15 : 9),
  };
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Order of groups: by priority, then by name. */
export function compareGroups(a: string, b: string): number {
  const priority = (group: string): number => GROUP_PRIORITY[group] ?? CUSTOM_GROUP_PRIORITY;
  return priority(b) - priority(a) || compareText(a, b);
}

/** Major number, stage (2 stable, 1 beta, 0 alpha) and number within the stage; `undefined` for other forms. */
function parseVersion(version: string): [number, number, number] | undefined {
  const match = /^v([1-9]\d{0,8})(?:(alpha|beta)([1-9]\d{0,8}))?$/.exec(version);
  if (!match) return undefined;
  const stage = match[2] === undefined ? 2 : match[2] === 'beta' ? 1 : 0;
  return [Number(match[1]), stage, Number(match[3] ?? 0)];
}

/** Kubernetes' order of versions, the best first: v10, v2, v1, v2beta1, v1beta2, v1alpha1, then others by name. */
export function compareVersions(a: string, b: string): number {
  const left = parseVersion(a);
  const right = parseVersion(b);
  if (!left || !right) return left ? -1 : right ? 1 : compareText(a, b);
  return right[1] - left[1] || right[0] - left[0] || right[2] - left[2];
}
