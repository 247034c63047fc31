import { execFileSync } from 'node:child_process';
import { accessSync, constants, existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';

export interface KubectlBinary {
  readonly path: string;
  /** `1.20`. */
  readonly version: string;
}

/** Where distributions and SDKs put versions beside each other: `kubectl.1.27`. */
const FOLDERS = ['/usr/lib/google-cloud-sdk/bin', '/usr/local/bin', '/opt/kubectl'];

/**
 * Every kubectl to test with, one a minor version, oldest first: those that `ATOLL_KUBECTL_ALL` names (separated as in
 * PATH) or the one on PATH, and those that a distribution put beside each other. Empty where there is none.
 */
export function kubectlBinaries(): KubectlBinary[] {
  const named = (process.env['ATOLL_KUBECTL_ALL'] ?? '').split(delimiter).filter((path) => path !== '');
  const byVersion = new Map<string, KubectlBinary>();
  let dispatcher: KubectlBinary | undefined;
  for (const path of [...(named.length > 0 ? named : onPath()), ...besideEachOther()]) {
    const { version, dispatches } = versionOf(path);
    // A dispatcher runs whichever binary it likes for a server: it is good for a version only where nothing else is.
    if (dispatches) dispatcher ??= { path, version };
    else if (!byVersion.has(version)) byVersion.set(version, { path, version });
  }
  if (dispatcher && byVersion.size === 0) byVersion.set(dispatcher.version, dispatcher);
  return [...byVersion.values()].sort((a, b) => minor(a) - minor(b));
}

function minor(binary: KubectlBinary): number {
  return Number(binary.version.split('.')[1]);
}

function besideEachOther(): string[] {
  return FOLDERS.filter((folder) => existsSync(folder)).flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => /^kubectl[.-]?v?1\.\d+$/.test(name))
      .map((name) => join(folder, name)),
  );
}

function onPath(): string[] {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return folders
    .map((folder) => join(folder, 'kubectl'))
    .filter(isExecutable)
    .slice(0, 1);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    // Not there, or not to be run: then it is not a kubectl to test with.
    return false;
  }
}

function versionOf(path: string): { version: string; dispatches: boolean } {
  const args = ['version', '--client', '-o', 'json'];
  const text = execFileSync(path, args, { encoding: 'utf8', env: { PATH: process.env['PATH'] } });
  const { clientVersion } = JSON.parse(text) as { clientVersion?: { gitVersion?: string } };
  const { gitVersion = '' } = clientVersion ?? {};
  const version = /^v(1\.\d+)/.exec(gitVersion)?.[1];
  if (version === undefined) throw new Error(`${path} says it is version ${JSON.stringify(gitVersion)}`);
  return { version, dispatches: gitVersion.includes('dispatcher') };
}
