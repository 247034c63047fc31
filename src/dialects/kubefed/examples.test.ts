import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ClusterFacts } from '../../engine/intent.ts';
import { planIntent } from '../../engine/plan/plan.ts';
import { render } from '../../engine/render/render.ts';
import { type CustomKind, customResourceDefinition } from '../../kube/custom-resource.ts';
import { asJson, asObject, type KubeObject } from '../../kube/object.ts';
import { at, listAt } from '../../schema/json.ts';
import type { OpenApiSchema } from '../../schema/open-api-schema.ts';
import { validateValue } from '../../schema/validate.ts';
import { parseManifests } from '../../schema/yaml-body.ts';
import {
  type ApiResource,
  compileFederated,
  DEFAULT_NAMESPACE,
  type FederatedObject,
  federatedKind,
  federatedTypeFor,
  KUBEFED_CONFIG,
  type KubeFedConfig,
  pluralOf,
  prefers,
  REPLICA_SCHEDULING_PREFERENCE,
  type ReplicaSchedulingPreference,
  validateConfig,
  withConfigDefaults,
} from './index.ts';

const EXAMPLES = join(import.meta.dirname, '../../../../shared/data/kubefed-examples');
const present = existsSync(EXAMPLES);
if (!present)
  // A suite that did not run must not look like one that passed.
  process.stderr.write(`SKIPPED: the examples of KubeFed are not at ${EXAMPLES}\n`);

const GROUPS: Readonly<Record<string, string>> = {
  ClusterRole: 'rbac.authorization.k8s.io',
  ClusterRoleBinding: 'rbac.authorization.k8s.io',
  Deployment: 'apps',
  Ingress: 'networking.k8s.io',
  Job: 'batch',
};

function targetOf(kind: string): ApiResource {
  const cluster = kind.startsWith('ClusterRole') || kind === 'Namespace';
  const group = GROUPS[kind] ?? '';
  return {
    group,
    version: 'v1',
    kind,
    pluralName: pluralOf(kind),
    scope: cluster ? 'Cluster' : 'Namespaced',
  };
}

const files = present
  ? readdirSync(EXAMPLES, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.yaml'))
  : [];
const objects: (readonly [string, KubeObject])[] = files.flatMap((file) => {
  const { objects: found, errors } = parseManifests(readFileSync(join(EXAMPLES, file), 'utf8'));
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message}`);
  return found.map((object) => [file, asObject(object)] as const);
});
const clusters: ClusterFacts[] = ['cluster1', 'cluster2'].map((name) => ({ name, labels: {} }));
const all = objects.map(([, object]) => object);
const find = (kind: string): KubeObject | undefined => all.find((object) => object.kind === kind);

function issuesOf(kind: CustomKind, object: KubeObject): unknown {
  const [version] = listAt(asJson(customResourceDefinition(kind)), 'spec', 'versions');
  const schema = at(version, 'schema', 'openAPIV3Schema') as unknown as OpenApiSchema;
  return validateValue(asJson(object), { schema, resolve: () => undefined });
}

describe.skipIf(!present)("KubeFed's own examples", () => {
  const federated = objects.filter(([, object]) => object.kind.startsWith('Federated'));

  it('are all there', () => {
    expect(files).toHaveLength(16);
    expect(federated).toHaveLength(10);
  });

  it.each(federated)('%s is valid and compiles', (_file, object) => {
    const type = federatedTypeFor(targetOf(object.kind.slice('Federated'.length)));
    expect(issuesOf(federatedKind(type), object)).toEqual([]);
    const item = object as FederatedObject;
    const compiled = compileFederated(item, {
      type,
      controlPlane: DEFAULT_NAMESPACE,
      federatedNamespace: find('FederatedNamespace') as FederatedObject | undefined,
    });
    expect(compiled).toMatchObject({ warnings: [], reason: '', blocked: new Map() });
    const plan = planIntent(compiled.intent, clusters);
    expect(plan.blocked).toEqual(new Map());
    for (const [name, patches] of plan.patches) {
      const { problems } = render(compiled.intent.objects, patches);
      expect([name, problems]).toEqual([name, []]);
    }
    expect([...plan.patches.keys()]).toEqual(['cluster1', 'cluster2']);
  });

  it('the preference divides the replicas of its Deployment by weight', () => {
    const preference = find('ReplicaSchedulingPreference') as ReplicaSchedulingPreference;
    const item = find('FederatedDeployment') as FederatedObject;
    expect(issuesOf(REPLICA_SCHEDULING_PREFERENCE, preference)).toEqual([]);
    expect(prefers(preference, item)).toBe(true);
    const { schedule } = compileFederated(item, {
      type: federatedTypeFor(targetOf('Deployment')),
      controlPlane: DEFAULT_NAMESPACE,
      federatedNamespace: find('FederatedNamespace') as FederatedObject | undefined,
      preference,
      ready: clusters,
    });
    expect(schedule?.replicas).toEqual(
      new Map([
        ['cluster1', 4],
        ['cluster2', 6],
      ]),
    );
  });

  it('the settings are valid', () => {
    const config = find('KubeFedConfig') as KubeFedConfig;
    expect(issuesOf(KUBEFED_CONFIG, config)).toEqual([]);
    expect(validateConfig(withConfigDefaults(config.spec))).toEqual([]);
  });
});
