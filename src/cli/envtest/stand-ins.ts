/**
 * Stand-ins for the programs that controller-runtime's envtest starts: a kube-apiserver in memory, and an etcd that it does not
 * need. They take the flags of the real ones, so that suites run unchanged with `KUBEBUILDER_ASSETS` set to where they are.
 */
export const STAND_INS: Readonly<Record<string, (args: readonly string[]) => Promise<void>>> = {
  etcd: async (args) => (await import('./etcd.ts')).runEtcd(args),
  'kube-apiserver': async (args) => (await import('./kube-apiserver.ts')).runKubeApiServer(args),
};
