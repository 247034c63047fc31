import { existsSync, readFileSync } from 'node:fs';
import { delimiter } from 'node:path';
import { KubeconfigError, parseKubeconfig } from '../kube/kubeconfig.ts';

/** The files that a value of $KUBECONFIG lists, be they there or not. */
export function listedKubeconfigs(value: string | undefined): readonly string[] {
  return (value ?? '').split(delimiter).filter((path) => path !== '');
}

/** Of several kubeconfigs the first that has the context; the first that is there, where none has it or none is asked for. */
export function kubeconfigWith(context: string | undefined, paths: readonly string[]): string | undefined {
  const present = paths.filter((path) => existsSync(path));
  const has = (path: string): boolean =>
    readNamedKubeconfig(path).contexts.some(({ name }) => name === context);
  return (context === undefined ? undefined : present.find(has)) ?? present[0];
}

/** A kubeconfig whose errors name the file. */
export function readNamedKubeconfig(path: string): ReturnType<typeof parseKubeconfig> {
  try {
    return parseKubeconfig(readFileSync(path, 'utf8'));
  } catch (error) {
    if (error instanceof KubeconfigError) throw new Error(`${path}: ${error.message}`, { cause: error });
    throw error;
  }
}
