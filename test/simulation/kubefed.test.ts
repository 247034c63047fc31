import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { asObject, type KubeObject } from '../../src/kube/object.ts';
import { at, stringAt } from '../../src/schema/json.ts';
import { parseManifests } from '../../src/schema/yaml-body.ts';
import { applyAll, enable, propagation, TARGETS } from './federation.ts';
import { type SimulatedFleet, simulateFleet, stored } from './fleet.ts';

const EXAMPLES = join(import.meta.dirname, '../../../shared/data/kubefed-examples');
const present = existsSync(EXAMPLES);
if (!present)
  // A suite that did not run must not look like one that passed.
  process.stderr.write(`SKIPPED: the examples of KubeFed are not at ${EXAMPLES}\n`);

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

function example(...path: string[]): KubeObject[] {
  const { objects, errors } = parseManifests(readFileSync(join(EXAMPLES, ...path), 'utf8'));
  if (errors.length > 0) throw new Error(`${path.join('/')}: ${errors[0]?.message}`);
  return objects.map(asObject);
}

const TEST = 'test-namespace';
const PATHS: Readonly<Record<string, string>> = {
  FederatedNamespace: `types.kubefed.io/federatednamespaces/${TEST}/test-namespace`,
  FederatedConfigMap: `types.kubefed.io/federatedconfigmaps/${TEST}/test-configmap`,
  FederatedSecret: `types.kubefed.io/federatedsecrets/${TEST}/test-secret`,
  FederatedService: `types.kubefed.io/federatedservices/${TEST}/test-service`,
  FederatedServiceAccount: `types.kubefed.io/federatedserviceaccounts/${TEST}/test-serviceaccount`,
  FederatedDeployment: `types.kubefed.io/federateddeployments/${TEST}/test-deployment`,
  FederatedJob: `types.kubefed.io/federatedjobs/${TEST}/test-job`,
  FederatedIngress: `types.kubefed.io/federatedingresses/${TEST}/test-ingress`,
  FederatedClusterRole: 'types.kubefed.io/federatedclusterroles/-/test-clusterrole',
  FederatedClusterRoleBinding: 'types.kubefed.io/federatedclusterrolebindings/-/test-clusterrolebinding',
};

describe.skipIf(!present)("KubeFed's own examples, unchanged", () => {
  it('arrive on the clusters that they name, with what is different there', async () => {
    fleet = await simulateFleet(6, ['cluster1', 'cluster2', 'cluster3'], { workloads: true });
    await enable(fleet, Object.keys(TARGETS));
    await applyAll(fleet, fleet.hub, example('config', 'kubefedconfig.yaml'));
    await applyAll(fleet, fleet.hub, example('sample1', 'namespace.yaml'));
    const files = readdirSync(join(EXAMPLES, 'sample1')).filter((name) => name.startsWith('federated'));
    expect(files).toHaveLength(10);
    for (const file of files) await applyAll(fleet, fleet.hub, example('sample1', file));
    const everywhere = { cluster1: '', cluster2: '' };
    for (const [kind, path] of Object.entries(PATHS)) {
      // Its backend is that of an Ingress before networking.k8s.io/v1: clusters of today refuse it, and the status says so.
      const wanted =
        kind === 'FederatedIngress'
          ? { is: 'CheckClusters', clusters: { cluster1: 'CreationFailed', cluster2: 'CreationFailed' } }
          : { is: 'True', clusters: everywhere };
      await fleet.until(
        () => JSON.stringify(propagation(stored(fleet.hub, path))) === JSON.stringify(wanted),
        `${kind}: ${JSON.stringify(wanted)}`,
      );
    }
    const [one, two, three] = fleet.spokes.map((spoke) => (path: string) => stored(spoke, path));
    const deployment = `apps/deployments/${TEST}/test-deployment`;
    expect(at(one?.(deployment), 'spec', 'replicas')).toBe(3);
    expect(two?.(deployment)).toMatchObject({
      spec: { replicas: 5, template: { spec: { containers: [{ image: 'nginx:1.17.0-alpine' }] } } },
    });
    expect(two?.(deployment)?.metadata.annotations?.['foo']).toBeUndefined();
    expect(one?.(`core/configmaps/${TEST}/test-configmap`)?.['data']).toEqual({ A: 'ala ma kota' });
    expect(two?.(`core/configmaps/${TEST}/test-configmap`)?.['data']).toEqual({ foo: 'bar' });
    expect(at(two?.(`batch/jobs/${TEST}/test-job`), 'spec', 'parallelism')).toBe(2);
    expect(one?.('rbac.authorization.k8s.io/clusterrolebindings/-/test-clusterrolebinding')).toBeDefined();
    expect(three?.('core/namespaces/-/test-namespace')).toBeUndefined();
    // The preference divides ten by two to three, instead of what template and override say.
    await applyAll(fleet, fleet.hub, example('scheduling', 'federateddeployment-rsp.yaml'));
    const replicas = (): (number | undefined)[] =>
      [one, two].map((on) => at(on?.(deployment), 'spec', 'replicas') as number | undefined);
    await fleet.until(() => replicas().join() === '4,6', 'replicas 4 and 6');
    expect(stringAt(two?.(deployment), 'spec', 'template', 'metadata', 'labels', 'app')).toBe('nginx');
  });
});
