import { KubeconfigError, parseKubeconfig } from '../../../kube/kubeconfig.ts';
import type { ClusterClients } from '../cluster-clients.ts';
import type { ClusterProvider } from '../provider.ts';
import { toldClusters } from '../told-clusters.ts';

/** Kubeconfigs of whoever runs the process, and word of their changes. */
export interface KubeconfigFiles {
  /** Those that are there now. */
  read(): readonly { readonly path: string; readonly text: string }[];
  /** Reads a file that a kubeconfig names. */
  readFile(path: string): string;
  /** Returns how to stop listening. */
  onChange(listener: () => void): () => void;
}

export interface KubeconfigFilesOptions {
  readonly files: KubeconfigFiles;
  readonly clients: ClusterClients;
}

/** A cluster, called `path+context`, for each context of each file. */
export function kubeconfigFiles({ files, clients }: KubeconfigFilesOptions): ClusterProvider {
  return {
    kind: 'file',
    start(runtime, aware) {
      const told = toldClusters(aware, runtime.log);

      function look(): void {
        const wanted = new Set<string>();
        for (const { path, text } of files.read()) {
          const contexts = contextsIn(text);
          if (typeof contexts === 'string') {
            runtime.log.warn('a kubeconfig is left as it was: it cannot be read', { path, why: contexts });
            // Half-written, most likely.
            for (const key of told.keys()) if (key.startsWith(`${path}+`)) wanted.add(key);
            continue;
          }
          for (const context of contexts) {
            const key = `${path}+${context}`;
            wanted.add(key);
            const own = { readFile: files.readFile };
            told.set(key, key, clients.accessOf({ text, context, own, labels: {} }));
          }
        }
        for (const key of told.keys()) if (!wanted.has(key)) told.remove(key);
      }

      const stopListening = files.onChange(look);
      look();
      return {
        synced: () => true,
        stop() {
          stopListening();
          told.stop();
        },
      };
    },
  };
}

function contextsIn(text: string): readonly string[] | string {
  try {
    return parseKubeconfig(text).contexts.map(({ name }) => name);
  } catch (error) {
    if (error instanceof KubeconfigError) return error.message;
    throw error;
  }
}
