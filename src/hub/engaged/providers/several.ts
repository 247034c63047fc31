import { clusterName } from '../../../kube/cluster-name.ts';
import type { ClusterProvider } from '../provider.ts';

/** All of several providers; each cluster is called `prefix#name`, so that two of one name are two. */
export function severalProviders(providers: Readonly<Record<string, ClusterProvider>>): ClusterProvider {
  for (const prefix of Object.keys(providers))
    if (prefix === '' || prefix.includes('#'))
      throw new RangeError(`${JSON.stringify(prefix)} cannot stand before # in the name of a cluster`);
  return {
    kind: 'several',
    start(runtime, aware) {
      const running = Object.entries(providers).map(([prefix, provider]) =>
        provider.start(runtime, {
          engage(name, access, signal) {
            aware.engage(clusterName(`${prefix}#${name}`), access, signal);
          },
        }),
      );
      return {
        synced: () => running.every((provider) => provider.synced()),
        stop() {
          for (const provider of running) provider.stop();
        },
      };
    },
  };
}
