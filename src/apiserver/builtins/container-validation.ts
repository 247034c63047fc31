import { isObject, type JsonObject, objectAt } from '../../schema/json.ts';
import { validateConfigMapKey, validateDns1123Label, validateQualifiedName } from '../../schema/names.ts';
import { divisorProblem, RESOURCE_FIELDS } from './downward-fields.ts';
import {
  dns1123Subdomain,
  notNegative,
  oneOf,
  PROTOCOLS,
  type Problems,
  port,
  portNameProblems,
  portOrName,
} from './field-checks.ts';
import {
  duplicate,
  forbidden,
  invalidEach,
  invalidValue,
  notFoundValue,
  notSupported,
  required,
} from './field-errors.ts';
import { integer, isSet, objectsOf, strings, text } from './fields.ts';
import { validateResourceRequirements } from './resource-list.ts';
import { validateContainerSecurity } from './security-context.ts';

const HANDLERS = ['exec', 'httpGet', 'tcpSocket', 'grpc', 'sleep'];
const PULL_POLICIES = ['Always', 'IfNotPresent', 'Never'];
const ENV_SOURCES = ['fieldRef', 'resourceFieldRef', 'configMapKeyRef', 'secretKeyRef', 'fileKeyRef'];
const ENV_FIELDS = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
];

export type ContainerRole = 'containers' | 'initContainers' | 'ephemeralContainers';

export interface ContainerSurroundings {
  /** Volumes of the pod by name: what kind of source each has. */
  readonly volumes: ReadonlyMap<string, string>;
  readonly hostNetwork: boolean;
  /** Seconds that the pod has to end. */
  readonly grace: number;
  /** Names of the containers seen so far; checked ones are added. */
  readonly names: Set<string>;
}

/** Checks one of the lists of containers of a pod spec at `path`. */
export function validateContainers(
  spec: JsonObject,
  role: ContainerRole,
  path: string,
  around: ContainerSurroundings,
): Problems {
  const problems: Problems = [];
  const hostPorts = new Set<string>();
  for (const [index, container] of objectsOf(spec, role).entries()) {
    const at = `${path}[${index}]`;
    const name = text(container, 'name');
    if (name === '') problems.push(required(`${at}.name`));
    else problems.push(...invalidEach(`${at}.name`, name, validateDns1123Label(name)));
    if (around.names.has(name)) problems.push(duplicate(`${at}.name`, name));
    else if (name !== '') around.names.add(name);
    problems.push(...imageProblems(container, at));
    problems.push(...oneOf(container, at, 'imagePullPolicy', PULL_POLICIES));
    problems.push(...oneOf(container, at, 'terminationMessagePolicy', ['File', 'FallbackToLogsOnError']));
    problems.push(...portProblems(container, `${at}.ports`, around.hostNetwork, hostPorts));
    problems.push(...envProblems(container, at));
    problems.push(...mountProblems(container, at, around.volumes));
    problems.push(...roleProblems(container, role, at));
    problems.push(...lifecycleProblems(container, at, around.grace));
    problems.push(...validateResourceRequirements(objectAt(container, 'resources'), `${at}.resources`));
    problems.push(...validateContainerSecurity(container, at));
  }
  return problems;
}

function imageProblems(container: JsonObject, at: string): Problems {
  const image = text(container, 'image');
  if (image === '') return [required(`${at}.image`)];
  return image.trim() === image
    ? []
    : [invalidValue(`${at}.image`, image, 'must not have leading or trailing whitespace')];
}

function portProblems(
  container: JsonObject,
  path: string,
  hostNetwork: boolean,
  hostPorts: Set<string>,
): Problems {
  const problems: Problems = [];
  const names = new Set<string>();
  for (const [index, item] of objectsOf(container, 'ports').entries()) {
    const at = `${path}[${index}]`;
    const name = text(item, 'name');
    if (name !== '') {
      const messages = portNameProblems(name);
      problems.push(...invalidEach(`${at}.name`, name, messages));
      if (messages.length === 0 && names.has(name)) problems.push(duplicate(`${at}.name`, name));
      names.add(name);
    }
    if (!isSet(item.containerPort)) problems.push(required(`${at}.containerPort`));
    else problems.push(...port(item.containerPort, `${at}.containerPort`));
    const protocol = text(item, 'protocol');
    if (isSet(item.hostPort)) {
      problems.push(...port(item.hostPort, `${at}.hostPort`));
      const key = `${protocol}/${text(item, 'hostIP')}/${item.hostPort}`;
      if (hostPorts.has(key)) problems.push(duplicate(`${at}.hostPort`, key));
      hostPorts.add(key);
      if (hostNetwork && item.hostPort !== item.containerPort) {
        problems.push(
          invalidValue(
            `${at}.hostPort`,
            item.hostPort,
            'must match `containerPort` when `hostNetwork` is true',
          ),
        );
      }
    }
    if (protocol === '') problems.push(required(`${at}.protocol`));
    else if (!PROTOCOLS.includes(protocol))
      problems.push(notSupported(`${at}.protocol`, protocol, PROTOCOLS));
  }
  return problems;
}

function envProblems(container: JsonObject, at: string): Problems {
  const problems: Problems = [];
  for (const [index, variable] of objectsOf(container, 'env').entries()) {
    const path = `${at}.env[${index}]`;
    const name = text(variable, 'name');
    if (name === '') problems.push(required(`${path}.name`));
    else problems.push(...invalidEach(`${path}.name`, name, envNameProblems(name)));
    const source = objectAt(variable, 'valueFrom');
    if (source) problems.push(...envSourceProblems(variable, source, `${path}.valueFrom`));
  }
  for (const [index, from] of objectsOf(container, 'envFrom').entries()) {
    const path = `${at}.envFrom[${index}]`;
    const prefix = text(from, 'prefix');
    if (prefix !== '') problems.push(...invalidEach(`${path}.prefix`, prefix, envNameProblems(prefix)));
    const sources = ['configMapRef', 'secretRef'].filter((key) => isObject(from[key]));
    for (const key of sources) {
      const source = text(objectAt(from, key), 'name');
      if (source === '') problems.push(required(`${path}.${key}.name`));
      else problems.push(...dns1123Subdomain(source, `${path}.${key}.name`));
    }
    // How many there are is told of the whole list.
    const list = `${at}.envFrom`;
    if (sources.length === 0) {
      problems.push(invalidValue(list, '', 'must specify one of: `configMapRef` or `secretRef`'));
    } else if (sources.length > 1) {
      problems.push(invalidValue(list, '', 'may not have more than one field specified at a time'));
    }
  }
  return problems;
}

function envNameProblems(name: string): string[] {
  return /^[\x20-\x3c\x3e-\x7e]+$/.test(name)
    ? []
    : ["a valid environment variable name must consist only of printable ASCII characters other than '='"];
}

function envSourceProblems(variable: JsonObject, source: JsonObject, path: string): Problems {
  const problems: Problems = [];
  const given = ENV_SOURCES.filter((key) => isObject(source[key]));
  for (const key of given) {
    const ref = objectAt(source, key);
    if (key === 'configMapKeyRef' || key === 'secretKeyRef') {
      problems.push(...dns1123Subdomain(text(ref, 'name'), `${path}.${key}.name`));
      const item = text(ref, 'key');
      if (item === '') problems.push(required(`${path}.${key}.key`));
      else problems.push(...invalidEach(`${path}.${key}.key`, item, validateConfigMapKey(item)));
    } else if (key === 'fieldRef') {
      if (ref) problems.push(...envFieldProblems(ref, `${path}.fieldRef`));
    } else if (key === 'resourceFieldRef') {
      const resource = text(ref, 'resource');
      const at = `${path}.resourceFieldRef`;
      if (resource === '') problems.push(required(`${at}.resource`));
      else if (!RESOURCE_FIELDS.includes(resource) && !/^(limits|requests)\.hugepages-/.test(resource)) {
        problems.push(notSupported(`${at}.resource`, resource, RESOURCE_FIELDS));
      } else problems.push(...divisorProblem(resource, ref?.divisor, `${at}.divisor`));
    }
  }
  if (given.length === 0) {
    problems.push(
      invalidValue(
        path,
        '',
        'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`',
      ),
    );
  } else if (text(variable, 'value') !== '') {
    problems.push(invalidValue(path, '', 'may not be specified when `value` is not empty'));
  } else if (given.length > 1) {
    problems.push(invalidValue(path, '', 'may not have more than one field specified at a time'));
  }
  return problems;
}

/** Fields that exist though variables cannot show them. */
const OTHER_FIELDS = [
  'metadata.annotations',
  'metadata.labels',
  'spec.restartPolicy',
  'spec.schedulerName',
  'status.phase',
];

function envFieldProblems(ref: JsonObject, path: string): Problems {
  const at = `${path}.fieldPath`;
  const field = text(ref, 'fieldPath');
  const version = text(ref, 'apiVersion');
  if (version === '') return [required(`${path}.apiVersion`)];
  if (field === '') return [required(at)];
  if (version !== 'v1') {
    return [invalidValue(at, field, `error converting fieldPath: unsupported pod version: ${version}`)];
  }
  if (ENV_FIELDS.includes(field)) return [];
  const key = /^metadata\.(?:labels|annotations)\['([^']+)'\]$/.exec(field)?.[1];
  if (key !== undefined) {
    const detail = at.replace(/\.fieldPath$/, '');
    return invalidEach(detail, key, validateQualifiedName(key));
  }
  return OTHER_FIELDS.includes(field)
    ? [notSupported(at, field, ENV_FIELDS)]
    : [invalidValue(at, field, `error converting fieldPath: field label not supported: ${field}`)];
}

/** Sources that a container may have as a block device. */
const BLOCK_SOURCES: readonly string[] = ['persistentVolumeClaim', 'ephemeral'];

function mountProblems(container: JsonObject, at: string, volumes: ReadonlyMap<string, string>): Problems {
  const problems: Problems = [];
  const paths = new Set<string>();
  const all = (list: string, key: string): Set<string> =>
    new Set(objectsOf(container, list).map((item) => text(item, key)));
  const [deviceNames, devicePaths] = [all('volumeDevices', 'name'), all('volumeDevices', 'devicePath')];
  const mountNames = all('volumeMounts', 'name');
  for (const [index, mount] of objectsOf(container, 'volumeMounts').entries()) {
    const path = `${at}.volumeMounts[${index}]`;
    const name = text(mount, 'name');
    if (name === '') problems.push(required(`${path}.name`));
    if (!volumes.has(name)) problems.push(notFoundValue(`${path}.name`, name));
    const mountPath = text(mount, 'mountPath');
    if (mountPath === '') problems.push(required(`${path}.mountPath`));
    if (paths.has(mountPath)) problems.push(invalidValue(`${path}.mountPath`, mountPath, 'must be unique'));
    paths.add(mountPath);
    if (deviceNames.has(name))
      problems.push(invalidValue(`${path}.name`, name, 'must not already exist in volumeDevices'));
    if (devicePaths.has(mountPath)) {
      const detail = 'must not already exist as a path in volumeDevices';
      problems.push(invalidValue(`${path}.mountPath`, mountPath, detail));
    }
    const list = `${at}.volumeMounts`;
    problems.push(
      ...subPathProblems(mount, path, list),
      ...readOnlyProblems(mount, list),
      ...oneOf(mount, list, 'mountPropagation', ['Bidirectional', 'HostToContainer', 'None']),
    );
    const privileged = objectAt(container, 'securityContext')?.privileged === true;
    if (text(mount, 'mountPropagation') === 'Bidirectional' && !privileged) {
      const detail = 'Bidirectional mount propagation is available only to privileged containers';
      problems.push(forbidden(`${list}.mountPropagation`, detail));
    }
  }
  const devices = new Set<string>();
  const ownPaths = new Set<string>();
  for (const [index, device] of objectsOf(container, 'volumeDevices').entries()) {
    const path = `${at}.volumeDevices[${index}]`;
    const name = text(device, 'name');
    if (name === '') problems.push(required(`${path}.name`));
    if (devices.has(name)) problems.push(invalidValue(`${path}.name`, name, 'must be unique'));
    devices.add(name);
    const kind = volumes.get(name);
    if (kind === undefined) problems.push(notFoundValue(`${path}.name`, name));
    else if (!BLOCK_SOURCES.includes(kind)) {
      const detail = 'can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode';
      problems.push(invalidValue(`${path}.name`, name, detail));
    }
    const devicePath = text(device, 'devicePath');
    if (devicePath === '') problems.push(required(`${path}.devicePath`));
    if (devicePath.split('/').includes('..'))
      problems.push(invalidValue(`${path}.devicePath`, devicePath, "can not contain backsteps ('..')"));
    else if (ownPaths.has(devicePath)) {
      problems.push(invalidValue(`${path}.devicePath`, devicePath, 'must be unique'));
    }
    ownPaths.add(devicePath);
    if (mountNames.has(name))
      problems.push(invalidValue(`${path}.name`, name, 'must not already exist in volumeMounts'));
    if (devicePath !== '' && paths.has(devicePath)) {
      const detail = 'must not already exist as a path in volumeMounts';
      problems.push(invalidValue(`${path}.devicePath`, devicePath, detail));
    }
  }
  return problems;
}

/** What is below a mount is read-only only where the mount itself is. */
function readOnlyProblems(mount: JsonObject, list: string): Problems {
  const recursive = text(mount, 'recursiveReadOnly');
  if (recursive === '' || recursive === 'Disabled') return [];
  const problems = oneOf(mount, list, 'recursiveReadOnly', ['Disabled', 'Enabled', 'IfPossible']);
  if (problems.length > 0) return problems;
  const at = `${list}.recursiveReadOnly`;
  if (mount.readOnly !== true) problems.push(forbidden(at, 'may only be specified when readOnly is true'));
  const propagation = text(mount, 'mountPropagation');
  if (propagation !== '' && propagation !== 'None')
    problems.push(forbidden(at, 'may only be specified when mountPropagation is None or not specified'));
  return problems;
}

function subPathProblems(mount: JsonObject, path: string, list: string): Problems {
  const problems: Problems = [];
  for (const key of ['subPath', 'subPathExpr']) {
    const value = text(mount, key);
    if (value.startsWith('/')) {
      problems.push(invalidValue(`${list}.${key}`, value, 'must be a relative path'));
    }
    if (value.split('/').includes('..')) {
      problems.push(invalidValue(`${list}.${key}`, value, "must not contain '..'"));
    }
  }
  if (text(mount, 'subPath') !== '' && text(mount, 'subPathExpr') !== '') {
    problems.push(
      invalidValue(
        `${path}.subPathExpr`,
        text(mount, 'subPathExpr'),
        'subPathExpr and subPath are mutually exclusive',
      ),
    );
  }
  return problems;
}

/** Which probes and policies a container may have, by its place in the pod. */
function roleProblems(container: JsonObject, role: ContainerRole, at: string): Problems {
  const problems: Problems = [];
  const restartPolicy = container.restartPolicy;
  const sidecar = role === 'initContainers' && restartPolicy === 'Always';
  if (role === 'initContainers') problems.push(...oneOf(container, at, 'restartPolicy', ['Always']));
  else if (role === 'containers') {
    // As newer releases have it: older ones refused every policy here.
    problems.push(...oneOf(container, at, 'restartPolicy', ['Always', 'Never', 'OnFailure']));
  } else if (restartPolicy !== undefined && restartPolicy !== null) {
    problems.push(forbidden(`${at}.restartPolicy`, 'may not be set for non-init containers'));
  }
  for (const key of ['livenessProbe', 'readinessProbe', 'startupProbe']) {
    const probe = container[key];
    if (!isObject(probe)) continue;
    if (role === 'initContainers' && !sidecar) {
      problems.push(
        forbidden(`${at}.${key}`, 'may not be set for init containers without restartPolicy=Always'),
      );
    } else if (role === 'ephemeralContainers') {
      problems.push(forbidden(`${at}.${key}`, 'cannot be set for an Ephemeral Container'));
    } else {
      problems.push(...probeProblems(probe, `${at}.${key}`));
      if (key === 'readinessProbe' && integer(probe, 'terminationGracePeriodSeconds') !== undefined) {
        problems.push(
          invalidValue(
            `${at}.${key}.terminationGracePeriodSeconds`,
            probe.terminationGracePeriodSeconds,
            'must not be set for readinessProbes',
          ),
        );
      }
      if (key !== 'readinessProbe' && (integer(probe, 'successThreshold') ?? 1) !== 1) {
        problems.push(invalidValue(`${at}.${key}.successThreshold`, probe.successThreshold, 'must be 1'));
      }
    }
  }
  if (role === 'ephemeralContainers')
    for (const key of ['ports', 'resources', 'lifecycle', 'resizePolicy']) {
      const value = container[key];
      const set = Array.isArray(value) ? value.length > 0 : isObject(value) && Object.keys(value).length > 0;
      if (set) problems.push(forbidden(`${at}.${key}`, 'cannot be set for an Ephemeral Container'));
    }
  if (role === 'initContainers' && !sidecar && isObject(container.lifecycle)) {
    problems.push(
      forbidden(`${at}.lifecycle`, 'may not be set for init containers without restartPolicy=Always'),
    );
  }
  return problems;
}

function probeProblems(probe: JsonObject, path: string): Problems {
  const problems = handlerProblems(probe, path);
  problems.push(
    ...notNegative(
      probe,
      path,
      'initialDelaySeconds',
      'timeoutSeconds',
      'periodSeconds',
      'successThreshold',
      'failureThreshold',
    ),
  );
  const grace = integer(probe, 'terminationGracePeriodSeconds');
  if (grace !== undefined && grace <= 0) {
    problems.push(invalidValue(`${path}.terminationGracePeriodSeconds`, grace, 'must be greater than 0'));
  }
  return problems;
}

function lifecycleProblems(container: JsonObject, at: string, grace: number): Problems {
  const problems: Problems = [];
  for (const key of ['postStart', 'preStop']) {
    const handler = objectAt(container, 'lifecycle', key);
    if (handler) problems.push(...handlerProblems(handler, `${at}.lifecycle.${key}`, grace));
  }
  return problems;
}

function handlerProblems(handler: JsonObject, path: string, grace?: number): Problems {
  const problems: Problems = [];
  const given = HANDLERS.filter((key) => isObject(handler[key]));
  if (given.length === 0) return [required(path, 'must specify a handler type')];
  for (const key of given.slice(1)) {
    problems.push(forbidden(`${path}.${key}`, 'may not specify more than 1 handler type'));
  }
  const kind = given[0] ?? '';
  const action = objectAt(handler, kind);
  const at = `${path}.${kind}`;
  if (kind === 'exec' && strings(action, 'command').length === 0) problems.push(required(`${at}.command`));
  if (kind === 'httpGet') {
    if (text(action, 'path') === '') problems.push(required(`${at}.path`));
    problems.push(...portOrName(action?.port, `${at}.port`));
    problems.push(...oneOf(action, at, 'scheme', ['HTTP', 'HTTPS']));
    for (const header of objectsOf(action, 'httpHeaders')) {
      const name = text(header, 'name');
      if (!/^[-A-Za-z0-9]+$/.test(name)) {
        problems.push(
          invalidValue(
            `${at}.httpHeaders`,
            name,
            "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')",
          ),
        );
      }
    }
  }
  if (kind === 'tcpSocket') problems.push(...portOrName(action?.port, `${at}.port`));
  if (kind === 'sleep' && grace !== undefined) {
    const seconds = integer(action, 'seconds') ?? 0;
    if (seconds < 0 || seconds > grace) {
      const detail = `must be non-negative and less than terminationGracePeriodSeconds (${grace})`;
      problems.push(invalidValue(at, seconds, detail));
    }
  }
  if (kind === 'grpc') problems.push(...port(action?.port, `${at}.port`));
  return problems;
}
