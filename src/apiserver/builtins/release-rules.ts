import type { KubeObject } from '../../kube/object.ts';
import type { FieldError } from '../../kube/status-error.ts';
import { deepEqual, objectAt } from '../../schema/json.ts';
import { parseQuantity } from '../../schema/quantity.ts';
import type { Strategy } from '../resource.ts';
import { forbidden, notSupported } from './field-errors.ts';
import { objectsOf, text } from './fields.ts';
import { POD_SPECS } from './privileged.ts';

/** What releases before `until` (the minor number) do otherwise with objects of one resource. */
interface OlderRule {
  readonly until: number;
  /** Takes away what the release knows and has switched off, unless it is there already. */
  readonly drop?: (object: KubeObject, old: KubeObject | undefined) => void;
  /** Changes what is said of an object, or adds to it. */
  readonly problems?: (found: FieldError[], object: KubeObject, old: KubeObject | undefined) => FieldError[];
}

/** A field of the spec that only those have who have it already. */
function dropped(key: string): NonNullable<OlderRule['drop']> {
  return (object, old) => {
    const spec = objectAt(object, 'spec');
    if (spec !== undefined && objectAt(old ?? {}, 'spec')?.[key] == null) delete spec[key];
  };
}

/** Who has asked for too much could not ask for less. */
function refuseLess(found: FieldError[], claim: KubeObject, old: KubeObject | undefined): FieldError[] {
  const path = 'spec.resources.requests.storage';
  const [wanted, had] = [claim, old].map((of) =>
    parseQuantity(objectAt(of ?? {}, 'spec', 'resources', 'requests')?.storage),
  );
  if (wanted === undefined || had === undefined || wanted.nanos >= had.nanos) return found;
  const others = found.filter((problem) => problem.path !== path || problem.type !== 'Forbidden');
  return [...others, forbidden(path, 'field can not be less than previous value')];
}

function dropFeatures(node: KubeObject): void {
  delete objectAt(node, 'status')?.features;
}

const RULES: Readonly<Record<string, readonly OlderRule[]>> = {
  persistentvolumes: [{ until: 34, drop: dropped('volumeAttributesClassName') }],
  persistentvolumeclaims: [
    { until: 34, drop: dropped('volumeAttributesClassName') },
    { until: 32, problems: refuseLess },
  ],
  services: [
    {
      until: 34,
      problems(found, object) {
        const path = 'spec.trafficDistribution';
        const value = text(objectAt(object, 'spec'), 'trafficDistribution');
        const known = ['PreferClose'];
        return value.startsWith('PreferSame') && !found.some((problem) => problem.path === path)
          ? [...found, notSupported(path, value, known)]
          : found.map((problem) =>
              problem.path === path && problem.supported ? { ...problem, supported: known } : problem,
            );
      },
    },
  ],
  nodes: [{ until: 33, drop: dropFeatures }],
  'coordination.k8s.io/leases': [
    {
      until: 37,
      drop(object, old) {
        dropped('strategy')(object, old);
        dropped('preferredHolder')(object, old);
      },
    },
  ],
  'apps/statefulsets': [
    {
      until: 35,
      drop(object) {
        delete objectAt(object, 'spec', 'updateStrategy', 'rollingUpdate')?.maxUnavailable;
      },
    },
    {
      until: 33,
      problems(found, object, old) {
        const limit = (of: KubeObject): unknown => objectAt(of, 'spec')?.revisionHistoryLimit;
        const changed = old !== undefined && !deepEqual(limit(object) ?? null, limit(old) ?? null);
        const told = found.some(({ path }) => path === 'spec');
        return changed && !told ? [...found, forbidden('spec', FIXED)] : found;
      },
    },
  ],
};

const FIXED =
  "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";

/** Rules of everything that has the spec of a pod, at `path`. */
function podRules(path: readonly string[]): readonly OlderRule[] {
  const at = path.join('.');
  return [
    {
      until: 33,
      drop(object) {
        const spec = objectAt(object, ...path);
        for (const role of ['containers', 'initContainers'])
          for (const container of objectsOf(spec, role)) {
            delete container.resizePolicy;
            const context = objectAt(container, 'securityContext');
            if (context?.procMount != null) context.procMount = 'Default';
          }
        delete spec?.hostUsers;
        const status = objectAt(object, 'status');
        if (status !== undefined && path.length === 1) delete status.observedGeneration;
      },
    },
    { until: 33, problems: (found) => found.map(sleepsSome) },
    {
      until: 34,
      drop(object) {
        const spec = objectAt(object, ...path);
        delete spec?.resources;
        delete spec?.resourceClaims;
        for (const role of ['containers', 'initContainers'])
          for (const container of objectsOf(spec, role)) delete objectAt(container, 'resources')?.claims;
      },
    },
    {
      until: 35,
      problems: (found, object) => [
        ...found,
        ...objectsOf(objectAt(object, ...path), 'containers').flatMap((container, index) =>
          text(container, 'restartPolicy') === ''
            ? []
            : [
                forbidden(
                  `${at}.containers[${index}].restartPolicy`,
                  'may not be set for non-init containers',
                ),
              ],
        ),
      ],
    },
  ];
}

function sleepsSome(problem: FieldError): FieldError {
  const match = /^must be non-negative and less than (terminationGracePeriodSeconds \(\d+\))$/.exec(
    problem.detail,
  );
  return match === null
    ? problem
    : {
        ...problem,
        detail: `must be greater than 0 and less than ${match[1]}. Enable AllowPodLifecycleSleepActionZeroValue feature gate for zero sleep.`,
      };
}

/** The behaviour of a resource in a release of Kubernetes 1, by its minor number. */
export function inRelease(minor: number, group: string, resource: string, strategy: Strategy): Strategy {
  const name = group === '' ? resource : `${group}/${resource}`;
  const path = POD_SPECS[name];
  const rules = [...(RULES[name] ?? []), ...(path ? podRules(path) : [])].filter(
    ({ until }) => minor < until,
  );
  if (rules.length === 0) return strategy;
  const drop = (object: KubeObject, old: KubeObject | undefined): void => {
    for (const rule of rules) rule.drop?.(object, old);
  };
  const told = (found: FieldError[], object: KubeObject, old?: KubeObject): FieldError[] =>
    rules.reduce((all, rule) => rule.problems?.(all, object, old) ?? all, found);
  return {
    ...strategy,
    prepareForCreate(object, context) {
      strategy.prepareForCreate?.(object, context);
      drop(object, undefined);
    },
    prepareForUpdate(object, old, context) {
      strategy.prepareForUpdate?.(object, old, context);
      drop(object, old);
    },
    prepareForStatusUpdate(object, old, context) {
      strategy.prepareForStatusUpdate?.(object, old, context);
      drop(object, old);
    },
    validate: (object) => told(strategy.validate?.(object) ?? [], object),
    validateUpdate: (object, old) =>
      told(strategy.validateUpdate?.(object, old) ?? strategy.validate?.(object) ?? [], object, old),
  };
}
