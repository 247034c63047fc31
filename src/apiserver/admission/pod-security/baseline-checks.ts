import { isObject, listAt, numberAt, stringAt } from '../../../schema/json.ts';
import type { Check, Finding } from './checks.ts';
import { nameOf, type PodParts, plural, quoted, securityOf, settersOf, some, sorted } from './pod-parts.ts';

/** Before the name of a container: annotations that named its profile before there was a field. */
export const APPARMOR_ANNOTATION = 'container.apparmor.security.beta.kubernetes.io/';

/** Capabilities that container runtimes give of themselves. */
const DEFAULT_CAPABILITIES: ReadonlySet<unknown> = new Set([
  ...['AUDIT_WRITE', 'CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'MKNOD', 'NET_BIND_SERVICE'],
  ...['SETFCAP', 'SETGID', 'SETPCAP', 'SETUID', 'SYS_CHROOT'],
]);

/** Sysctls that concern a pod alone, and since which release they pass. */
const SAFE_SYSCTLS: Readonly<Record<string, number>> = {
  'kernel.shm_rmid_forced': 0,
  'net.ipv4.ip_local_port_range': 0,
  'net.ipv4.ip_unprivileged_port_start': 0,
  'net.ipv4.ping_group_range': 0,
  'net.ipv4.tcp_syncookies': 0,
  'net.ipv4.ip_local_reserved_ports': 27,
  'net.ipv4.tcp_fin_timeout': 29,
  'net.ipv4.tcp_keepalive_intvl': 29,
  'net.ipv4.tcp_keepalive_probes': 29,
  'net.ipv4.tcp_keepalive_time': 29,
  'net.ipv4.tcp_rmem': 32,
  'net.ipv4.tcp_wmem': 32,
};

const SELINUX_TYPES: Readonly<Record<string, number>> = {
  '': 0,
  container_t: 0,
  container_init_t: 0,
  container_kvm_t: 0,
  container_engine_t: 31,
};

export const BASELINE_CHECKS: readonly Check[] = [
  { name: 'appArmorProfile', find: appArmor },
  { name: 'capabilities_baseline', find: capabilities },
  {
    name: 'hostNamespaces',
    find({ spec }) {
      const shared = ['hostNetwork', 'hostPID', 'hostIPC'].filter((field) => spec[field] === true);
      if (shared.length === 0) return undefined;
      return { reason: 'host namespaces', detail: shared.map((field) => `${field}=true`).join(', ') };
    },
  },
  {
    name: 'hostPathVolumes',
    find({ spec }) {
      const names = listAt(spec, 'volumes')
        .filter(isObject)
        .filter(({ hostPath }) => isObject(hostPath))
        .map(nameOf);
      return names.length === 0 ? undefined : { reason: 'hostPath volumes', detail: some('volume', names) };
    },
  },
  { name: 'hostPorts', find: hostPorts },
  { name: 'hostProbesAndHostLifecycle', since: 34, find: handlerHosts },
  {
    name: 'privileged',
    find({ containers }) {
      const names = containers.filter((part) => securityOf(part, 'privileged') === true).map(nameOf);
      if (names.length === 0) return undefined;
      const detail = `${some('container', names)} must not set securityContext.privileged=true`;
      return { reason: 'privileged', detail };
    },
  },
  {
    name: 'procMount',
    find({ containers }) {
      const wrong = containers.filter((part) => (securityOf(part, 'procMount') ?? 'Default') !== 'Default');
      if (wrong.length === 0) return undefined;
      const types = quoted(sorted(wrong.map((part) => String(securityOf(part, 'procMount')))));
      const detail = `${some('container', wrong.map(nameOf))} must not set securityContext.procMount to ${types}`;
      return { reason: 'procMount', detail };
    },
  },
  { name: 'seLinuxOptions', find: seLinux },
  {
    name: 'seccompProfile_baseline',
    since: 19,
    find(parts) {
      const wrong = settersOf(parts, ['seccompProfile', 'type'], (type) => type === 'Unconfined');
      return wrong && seccompFinding(wrong.text, ['Unconfined']);
    },
  },
  {
    name: 'sysctls',
    find({ spec }, minor) {
      const names = listAt(spec, 'securityContext', 'sysctls')
        .map((sysctl) => stringAt(sysctl, 'name') ?? '')
        .filter((name) => !passes(SAFE_SYSCTLS, name, minor));
      return names.length === 0 ? undefined : { reason: 'forbidden sysctls', detail: names.join(', ') };
    },
  },
  {
    name: 'windowsHostProcess',
    find(parts) {
      const wrong = settersOf(parts, ['windowsOptions', 'hostProcess'], (value) => value === true);
      return (
        wrong && {
          reason: 'hostProcess',
          detail: `${wrong.text} must not set securityContext.windowsOptions.hostProcess=true`,
        }
      );
    },
  },
];

export function seccompFinding(setters: string, types: readonly string[]): Finding {
  return {
    reason: 'seccompProfile',
    detail: `${setters} must not set securityContext.seccompProfile.type to ${quoted(types)}`,
  };
}

/** The entry of a table that holds names with the release since which they pass. */
function passes(table: Readonly<Record<string, number>>, name: string, minor: number): boolean {
  const since = Object.hasOwn(table, name) ? table[name] : undefined;
  return since !== undefined && minor >= since;
}

function appArmor(parts: PodParts): Finding | undefined {
  const wrong = settersOf(
    parts,
    ['appArmorProfile', 'type'],
    (type) => type !== 'RuntimeDefault' && type !== 'Localhost',
  );
  const annotations = Object.entries(parts.annotations)
    .filter(([key]) => key.startsWith(APPARMOR_ANNOTATION))
    .filter(([, value]) => value !== '' && value !== 'runtime/default' && !value.startsWith('localhost/'))
    .map(([key, value]) => `${key}="${value}"`);
  if (!wrong && annotations.length === 0) return undefined;
  const values = sorted([...(wrong?.values ?? []).map(String), ...annotations]);
  const setters = [
    ...(wrong ? [wrong.text] : []),
    ...(annotations.length > 0 ? [plural('annotation', annotations)] : []),
  ];
  return {
    reason: plural('forbidden AppArmor profile', values),
    detail: `${setters.join(' and ')} must not set AppArmor profile type to ${quoted(values)}`,
  };
}

function capabilities({ containers }: PodParts): Finding | undefined {
  const added = (part: (typeof containers)[number]): string[] =>
    listAt(part, 'securityContext', 'capabilities', 'add')
      .filter((name) => !DEFAULT_CAPABILITIES.has(name))
      .map(String);
  const wrong = containers.filter((part) => added(part).length > 0);
  if (wrong.length === 0) return undefined;
  const names = quoted(sorted(wrong.flatMap(added)));
  return {
    reason: 'non-default capabilities',
    detail: `${some('container', wrong.map(nameOf))} must not include ${names} in securityContext.capabilities.add`,
  };
}

function hostPorts({ containers }: PodParts): Finding | undefined {
  const portsOf = (part: (typeof containers)[number]): string[] =>
    listAt(part, 'ports')
      .map((port) => numberAt(port, 'hostPort') ?? 0)
      .filter((port) => port !== 0)
      .map(String);
  const wrong = containers.filter((part) => portsOf(part).length > 0).map(nameOf);
  if (wrong.length === 0) return undefined;
  const ports = sorted(containers.flatMap(portsOf));
  const use = plural('uses', wrong, 'use');
  return {
    reason: 'hostPort',
    detail: `${some('container', wrong)} ${use} ${plural('hostPort', ports)} ${ports.join(', ')}`,
  };
}

/** Where a container has handlers that may name a host, which the node then connects to. */
const HANDLERS: readonly (readonly string[])[] = [
  ['livenessProbe'],
  ['readinessProbe'],
  ['startupProbe'],
  ['lifecycle', 'postStart'],
  ['lifecycle', 'preStop'],
];

function handlerHosts({ containers }: PodParts): Finding | undefined {
  const hostsOf = (part: (typeof containers)[number]): string[] =>
    HANDLERS.flatMap((path) =>
      ['httpGet', 'tcpSocket'].map((action) => stringAt(part, ...path, action, 'host') ?? ''),
    ).filter((host) => host !== '');
  const wrong = sorted(containers.filter((part) => hostsOf(part).length > 0).map(nameOf));
  if (wrong.length === 0) return undefined;
  const hosts = sorted(containers.flatMap(hostsOf));
  const use = plural('uses', wrong, 'use');
  return {
    reason: 'probe or lifecycle host',
    detail: `${some('container', wrong)} ${use} ${some('probe or lifecycle host', hosts)}`,
  };
}

function seLinux(parts: PodParts, minor: number): Finding | undefined {
  const types: string[] = [];
  const fields = new Set<string>();
  const wrong = settersOf(parts, ['seLinuxOptions'], (options) => {
    const type = stringAt(options, 'type') ?? '';
    const badType = !passes(SELINUX_TYPES, type, minor);
    if (badType) types.push(type);
    const set = ['user', 'role'].filter((field) => (stringAt(options, field) ?? '') !== '');
    for (const field of set) fields.add(field);
    return badType || set.length > 0;
  });
  if (!wrong) return undefined;
  const named = sorted(types);
  const details = [
    ...(named.length > 0 ? [`${plural('type', named)} ${quoted(named)}`] : []),
    ...['user', 'role'].filter((field) => fields.has(field)).map((field) => `${field} may not be set`),
  ];
  return {
    reason: 'seLinuxOptions',
    detail: `${wrong.text} set forbidden securityContext.seLinuxOptions: ${details.join('; ')}`,
  };
}
