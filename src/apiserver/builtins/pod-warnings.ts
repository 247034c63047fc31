import type { KubeObject } from '../../kube/object.ts';
import { deepEqual, isObject, type JsonObject, objectAt } from '../../schema/json.ts';
import { formatQuantity, parseQuantity } from '../../schema/quantity.ts';
import { profileAnnotationWarnings } from './app-armor.ts';
import { integer, isSet, objectsOf, text } from './fields.ts';

/** Volumes that Kubernetes has given up, and what it says of them. */
const DEPRECATED: readonly (readonly [field: string, name: string, since: string])[] = [
  ['photonPersistentDisk', 'photonPersistentDisk', 'deprecated in v1.11, non-functional in v1.16+'],
  ['gitRepo', 'gitRepo', 'deprecated in v1.11'],
  ['scaleIO', 'scaleIO', 'deprecated in v1.16, non-functional in v1.22+'],
  ['flocker', 'flocker', 'deprecated in v1.22, non-functional in v1.25+'],
  ['storageos', 'storageOS', 'deprecated in v1.22, non-functional in v1.25+'],
  ['quobyte', 'quobyte', 'deprecated in v1.22, non-functional in v1.25+'],
  ['glusterfs', 'glusterfs', 'deprecated in v1.25, non-functional in v1.26+'],
  ['cephfs', 'cephfs', 'deprecated in v1.28, non-functional in v1.31+'],
  ['rbd', 'rbd', 'deprecated in v1.28, non-functional in v1.31+'],
];

const BYTES = ['memory', 'ephemeral-storage', 'storage'];

/** What of a pod spec at `path` is accepted though it can hardly be meant, sorted by what is checked, not by place. */
export function podSpecWarnings(spec: JsonObject | undefined, path: string): string[] {
  if (spec === undefined) return [];
  const warnings: string[] = [];
  for (const [index, volume] of objectsOf(spec, 'volumes').entries()) {
    warnings.push(...volumeWarnings(volume, `${path}.volumes[${index}]`));
  }
  const aliases = new Set<string>();
  for (const [index, alias] of objectsOf(spec, 'hostAliases').entries()) {
    const ip = text(alias, 'ip');
    if (aliases.has(ip))
      warnings.push(`${path}.hostAliases[${index}].ip: duplicate ip ${JSON.stringify(ip)}`);
    aliases.add(ip);
  }
  const secrets = new Set<string>();
  for (const [index, secret] of objectsOf(spec, 'imagePullSecrets').entries()) {
    const name = text(secret, 'name');
    const at = `${path}.imagePullSecrets[${index}].name`;
    if (name === '') warnings.push(`${at}: invalid empty name ""`);
    else if (secrets.has(name)) warnings.push(`${at}: duplicate name ${JSON.stringify(name)}`);
    secrets.add(name);
  }
  for (const role of ['initContainers', 'containers']) {
    for (const [index, container] of objectsOf(spec, role).entries()) {
      warnings.push(...containerWarnings(container, `${path}.${role}[${index}]`));
    }
  }
  for (const kind of ['podAffinity', 'podAntiAffinity']) {
    const rules = objectAt(spec, 'affinity', kind);
    const at = `${path}.affinity.${kind}`;
    for (const [list, within] of [
      ['requiredDuringSchedulingIgnoredDuringExecution', undefined],
      ['preferredDuringSchedulingIgnoredDuringExecution', 'podAffinityTerm'],
    ] as const) {
      for (const [index, item] of objectsOf(rules, list).entries()) {
        const term = within === undefined ? item : objectAt(item, within);
        if (isObject(term?.labelSelector)) continue;
        const where = `${at}.${list}[${index}]${within === undefined ? '' : `.${within}`}`;
        warnings.push(`${where}.labelSelector: a null labelSelector results in matching no pod`);
      }
    }
  }
  for (const [index, constraint] of objectsOf(spec, 'topologySpreadConstraints').entries()) {
    if (isObject(constraint.labelSelector)) continue;
    const at = `${path}.topologySpreadConstraints[${index}].labelSelector`;
    warnings.push(`${at}: a null labelSelector results in matching no pod`);
  }
  if ((integer(spec, 'terminationGracePeriodSeconds') ?? 0) < 0) {
    warnings.push(
      `${path}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`,
    );
  }
  return warnings;
}

/** What is said of the source of a volume that Kubernetes has given up. */
export function deprecatedSourceWarnings(volume: JsonObject, path: string): string[] {
  return DEPRECATED.filter(([field]) => isObject(volume[field])).map(
    ([, name, since]) => `${path}.${name}: ${since}`,
  );
}

function volumeWarnings(volume: JsonObject, path: string): string[] {
  const warnings = deprecatedSourceWarnings(volume, path);
  for (const source of objectsOf(objectAt(volume, 'projected'), 'sources')) {
    if (Object.values(source).some(isObject)) continue;
    warnings.push(`volume ${JSON.stringify(text(volume, 'name'))} (Projected) has no sources provided`);
  }
  const claim = objectAt(volume, 'ephemeral', 'volumeClaimTemplate', 'spec');
  warnings.push(...amountWarnings(claim, `${path}.ephemeral.volumeClaimTemplate.spec`));
  return warnings;
}

function containerWarnings(container: JsonObject, path: string): string[] {
  const warnings = amountWarnings(container, path);
  const variables = new Set<string>();
  for (const [index, variable] of objectsOf(container, 'env').entries()) {
    const name = text(variable, 'name');
    if (variables.has(name)) {
      warnings.push(
        `${path}.env[${index}]: hides previous definition of ${JSON.stringify(name)}, which may be dropped when using apply`,
      );
    }
    variables.add(name);
  }
  const ports = new Map<string, number>();
  for (const [index, port] of objectsOf(container, 'ports').entries()) {
    const definition = JSON.stringify([port.containerPort, port.hostPort, port.hostIP, port.protocol]);
    const same = ports.get(definition);
    if (same === undefined) ports.set(definition, index);
    else warnings.push(`${path}.ports[${index}]: duplicate port definition with ${path}.ports[${same}]`);
    const ip = text(port, 'hostIP');
    if (ip === '' || isSet(port.hostPort)) continue;
    warnings.push(
      `${path}.ports[${index}]: hostIP set without hostPort: {Name:${text(port, 'name')} HostPort:0 ContainerPort:${integer(port, 'containerPort') ?? 0} Protocol:${text(port, 'protocol')} HostIP:${ip}}`,
    );
  }
  return warnings;
}

/** Parts of bytes, which are rounded up in the end. */
export function amountWarnings(
  holder: JsonObject | undefined,
  path: string,
  lists: readonly string[] = ['limits', 'requests'],
): string[] {
  const warnings: string[] = [];
  for (const list of lists) {
    const amounts = objectAt(holder, 'resources', list);
    for (const name of BYTES) {
      const quantity = parseQuantity(amounts?.[name]);
      if (quantity === undefined || quantity.nanos % 1_000_000_000n === 0n) continue;
      warnings.push(
        `${path}.resources.${list}[${name}]: fractional byte value ${JSON.stringify(formatQuantity(quantity))} is invalid, must be an integer`,
      );
    }
  }
  return warnings;
}

/** The warnings of a kind whose spec holds a template of pods, when it is made or its spec changes. */
export function withTemplateWarnings(
  own: (object: KubeObject, old: KubeObject | undefined) => string[],
  ...within: string[]
): (object: KubeObject, old: KubeObject | undefined) => string[] {
  const template = ['spec', ...within, 'template'];
  return (object, old) => {
    const warnings = own(object, old);
    if (old !== undefined && deepEqual(object.spec, old.spec)) return warnings;
    const at = template.join('.');
    const spec = objectAt(object, ...template, 'spec');
    const annotations = objectAt(object, ...template, 'metadata', 'annotations') ?? {};
    return [
      ...warnings,
      ...podSpecWarnings(spec, `${at}.spec`),
      ...profileAnnotationWarnings(annotations, spec, `${at}.metadata`, true),
    ];
  };
}
