import { PROPAGATION } from '../../dialects/propagation/kinds.ts';
import { apiVersionOf } from '../../kube/custom-resource.ts';
import type { KubeObject } from '../../kube/object.ts';
import type { JsonObject } from '../../schema/json.ts';
import { atollVersion } from '../version.ts';
import { durationOf } from './duration.ts';
import { labelsOf } from './labels.ts';
import { ENGINE_NAMESPACE, engineNamespace, manifestText, upgradableEngine } from './spoke-manifests.ts';

/** On SpokeClusters whose owners let the hub upgrade the engine, with the value `dispatched`. */
export const ENGINE_LABEL = 'atoll.dev/engine';

export interface EngineRelease {
  /** Container image whose entry point is atoll. */
  readonly image: string;
  /** Whose engine it is to be; those that let the hub do it where nothing is said. */
  readonly labels?: Readonly<Record<string, string>>;
  /** How long the first cluster has to be well before the others follow. */
  readonly soakSeconds: number;
}

/**
 * The engine of spokes as an intent of the hub: an image, first on one cluster, then on the others, and back where it does not come up.
 * It replaces what is there and is never taken away: an engine that goes could not be brought back.
 */
export function engineRelease({ image, labels, soakSeconds }: EngineRelease): KubeObject[] {
  const engine = upgradableEngine('name-of-the-cluster', image);
  return [
    engineNamespace(),
    // A hub is a cluster as well: none runs there.
    { ...engine, spec: { ...(engine['spec'] as JsonObject), replicas: 0 } },
    {
      apiVersion: apiVersionOf(PROPAGATION),
      kind: PROPAGATION.kind,
      metadata: { name: 'engine', namespace: ENGINE_NAMESPACE },
      spec: {
        resourceSelectors: [{ apiVersion: 'apps/v1', kind: 'Deployment', name: engine.metadata.name ?? '' }],
        placement: { clusterSelector: { matchLabels: labels ?? { [ENGINE_LABEL]: 'dispatched' } } },
        overrides: [
          {
            name: 'its-own-name',
            patch: [
              { op: 'replace', path: '/spec/replicas', value: 1 },
              {
                op: 'replace',
                path: '/spec/template/spec/containers/0/args/2',
                expression: 'cluster.name',
              },
            ],
          },
        ],
        apply: { adopt: 'Always', preserveOnDeletion: true },
        rollout: {
          stages: [{ name: 'first', size: 1, soakSeconds }],
          maxUnavailable: '10%',
          timeoutSeconds: 900,
          rollback: { automatic: true, scope: 'Fleet' },
        },
      },
    },
  ];
}

export interface EngineReleaseWish {
  readonly image?: string;
  readonly labels?: readonly string[];
  readonly soak: string;
}

/** `atoll engine`. */
export function printEngineRelease({ image, labels, soak }: EngineReleaseWish): void {
  const objects = engineRelease({
    image: image ?? `atoll:${atollVersion()}`,
    soakSeconds: durationOf(soak, '--soak') / 1000,
    ...(labels === undefined ? {} : { labels: labelsOf(labels) }),
  });
  process.stdout.write(manifestText(objects));
}
