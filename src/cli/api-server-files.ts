import { createWriteStream, readFileSync, type WriteStream } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type ApiServerOptions, type AuditSink, parseAuditPolicy } from '../apiserver/index.ts';
import { type Kubeconfig, type KubeconfigUser, parseKubeconfig } from '../kube/kubeconfig.ts';
import { errorText, type Logger } from '../runtime/log.ts';
import { isObject, listAt, stringAt } from '../schema/json.ts';
import { yamlLibrary } from '../schema/yaml-library.ts';

/** Options of `atoll apiserver` that name files, and what goes with them. Names and meanings are kube-apiserver's. */
export interface ApiServerFiles {
  readonly auditPolicyFile?: string;
  /** `-` is the standard output. */
  readonly auditLogPath?: string;
  readonly admissionControlConfigFile?: string;
  readonly oidcIssuerUrl?: string;
  readonly oidcClientId?: string;
  readonly oidcUsernameClaim?: string;
  readonly oidcUsernamePrefix?: string;
  readonly oidcGroupsClaim?: string;
  readonly oidcGroupsPrefix?: string;
  /** `name=value` each. */
  readonly oidcRequiredClaim?: readonly string[];
  readonly oidcSigningAlgs?: readonly string[];
  readonly oidcCaFile?: string;
}

type Read = Pick<ApiServerOptions, 'audit' | 'auditPolicy' | 'webhookUsers' | 'oidc'>;

/** Reads the files. `close` ends the audit log. Throws an Error that names the option whose file is of no use. */
export function apiServerFiles(log: Logger, options: ApiServerFiles): { read: Read; close(): Promise<void> } {
  const { auditPolicyFile, auditLogPath, admissionControlConfigFile } = options;
  if (auditPolicyFile !== undefined && auditLogPath === undefined)
    throw new Error('--audit-policy-file says what is recorded: --audit-log-path has to say where');
  const read: Read = {
    ...(auditPolicyFile === undefined
      ? {}
      : { auditPolicy: parseAuditPolicy(textOf('--audit-policy-file', auditPolicyFile)) }),
    ...(admissionControlConfigFile === undefined
      ? {}
      : { webhookUsers: webhookUsers(admissionControlConfigFile) }),
    ...oidcOf(options),
  };
  if (auditLogPath === undefined) return { read, close: () => Promise.resolve() };
  const audit = auditFile(log, auditLogPath);
  return { read: { ...read, audit: audit.sink }, close: audit.close };
}

function textOf(option: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(`${option}: ${errorText(error)}`, { cause: error });
  }
}

function oidcOf(options: ApiServerFiles): Pick<Read, 'oidc'> {
  const { oidcIssuerUrl: issuer, oidcClientId: clientId } = options;
  if ((issuer === undefined) !== (clientId === undefined))
    throw new Error('--oidc-issuer-url and --oidc-client-id go together');
  if (issuer === undefined || clientId === undefined) return {};
  const requiredClaims = Object.fromEntries(
    (options.oidcRequiredClaim ?? []).map((pair): [string, string] => {
      const equals = pair.indexOf('=');
      if (equals < 1) throw new Error(`--oidc-required-claim ${JSON.stringify(pair)} is not name=value`);
      return [pair.slice(0, equals), pair.slice(equals + 1)];
    }),
  );
  const { oidcUsernameClaim, oidcUsernamePrefix, oidcGroupsClaim, oidcGroupsPrefix } = options;
  const { oidcSigningAlgs, oidcCaFile } = options;
  return {
    oidc: {
      issuer,
      clientId,
      requiredClaims,
      ...(oidcUsernameClaim === undefined ? {} : { usernameClaim: oidcUsernameClaim }),
      ...(oidcUsernamePrefix === undefined ? {} : { usernamePrefix: oidcUsernamePrefix }),
      ...(oidcGroupsClaim === undefined ? {} : { groupsClaim: oidcGroupsClaim }),
      ...(oidcGroupsPrefix === undefined ? {} : { groupsPrefix: oidcGroupsPrefix }),
      ...(oidcSigningAlgs === undefined ? {} : { signingAlgorithms: oidcSigningAlgs }),
      ...(oidcCaFile === undefined ? {} : { caBundle: textOf('--oidc-ca-file', oidcCaFile) }),
    },
  };
}

const WEBHOOK_PLUGINS = ['MutatingAdmissionWebhook', 'ValidatingAdmissionWebhook'];

/** The users of the kubeconfigs that an AdmissionConfiguration names, with the content of the files that they name. */
function webhookUsers(path: string): Kubeconfig['users'] {
  const option = '--admission-control-config-file';
  const value: unknown = yamlLibrary().parse(textOf(option, path), { maxAliasCount: 0, prettyErrors: false });
  if (!isObject(value) || value.kind !== 'AdmissionConfiguration')
    throw new Error(`${option}: ${path} is no AdmissionConfiguration`);
  const users = new Map<string, KubeconfigUser>();
  for (const plugin of listAt(value, 'plugins')) {
    if (!WEBHOOK_PLUGINS.includes(stringAt(plugin, 'name') ?? '')) continue;
    const file = stringAt(plugin, 'configuration', 'kubeConfigFile');
    if (file === undefined) continue;
    const kubeconfigPath = resolve(dirname(path), file);
    for (const { name, user } of parseKubeconfig(textOf(option, kubeconfigPath)).users)
      users.set(name, inlined(option, dirname(kubeconfigPath), user));
  }
  return [...users].map(([name, user]) => ({ name, user }));
}

function inlined(option: string, directory: string, user: KubeconfigUser): KubeconfigUser {
  const { tokenFile, 'client-certificate': certificate, 'client-key': key, ...rest } = user;
  const read = (file: string): string => textOf(option, resolve(directory, file));
  const encoded = (file: string): string => Buffer.from(read(file)).toString('base64');
  return {
    ...rest,
    ...(tokenFile === undefined ? {} : { token: read(tokenFile).trim() }),
    ...(certificate === undefined ? {} : { 'client-certificate-data': encoded(certificate) }),
    ...(key === undefined ? {} : { 'client-key-data': encoded(key) }),
  };
}

/** Events that wait for a disk hold no more memory than this; more are dropped, and the log says so. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;

function auditFile(log: Logger, path: string): { sink: AuditSink; close(): Promise<void> } {
  if (path === '-')
    return {
      sink: (event) => process.stdout.write(`${JSON.stringify(event)}\n`),
      close: () => Promise.resolve(),
    };
  let dropped = 0;
  let failing = false;
  let closed = false;
  // A full disk must not stop the API.
  function open(): WriteStream {
    const opened = createWriteStream(path, { flags: 'a', mode: 0o600 });
    opened.on('error', (error) => {
      if (!failing) log.error('the audit log cannot be written', { path, error: errorText(error) });
      failing = true;
    });
    return opened;
  }
  let stream = open();
  function drop(): void {
    if (dropped === 0) log.error('events are missing in the audit log', { path });
    dropped += 1;
  }
  return {
    sink(event) {
      // Nor is it full for ever. What was written last may have been cut off in the middle of its line.
      const again = stream.destroyed && !closed;
      if (again) stream = open();
      if (stream.destroyed || stream.writableLength > MAX_WAITING_BYTES) {
        drop();
        return;
      }
      stream.write(`${again ? '\n' : ''}${JSON.stringify(event)}\n`, (error) => {
        if (error) drop();
        else if ((failing || dropped > 0) && stream.writableLength === 0) {
          log.warn('the audit log is written again', { path, missing: dropped });
          failing = false;
          dropped = 0;
        }
      });
    },
    close: () =>
      new Promise((resolve) => {
        closed = true;
        if (stream.destroyed) resolve();
        else stream.end(() => resolve()).once('error', () => resolve());
      }),
  };
}
