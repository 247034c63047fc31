import type { Compiled } from '../../engine/compiled.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { refText } from '../../kube/object.ts';
import type { PropagationFindings } from './report.ts';

/** Whether the selection can be used, for the condition `Selected`. `blockers` keep everything as it is. */
export function describeSelection(
  compiled: Compiled,
  blockers: readonly string[],
): PropagationFindings['selection'] {
  if (blockers.length > 0)
    return {
      ok: false,
      reason: compiled.problems.length > 0 ? 'InvalidSelector' : 'KindNotServed',
      message: `${[...new Set(blockers)].join('; ')}. Nothing is changed on the spokes meanwhile`,
    };
  const skipped = compiled.skipped[0];
  if (skipped)
    return {
      ok: false,
      reason: 'NeverPropagated',
      message: `${refText(skipped.ref)} is selected but never propagated: ${skipped.reason}`,
    };
  if (compiled.emptySelectors.length > 0) {
    const list = compiled.emptySelectors.map((index) => `resourceSelectors[${index}]`).join(', ');
    return {
      ok: false,
      reason: 'NothingSelected',
      message: `${list} match${compiled.emptySelectors.length === 1 ? 'es' : ''} no object; objects that come to match are propagated at once`,
    };
  }
  return { ok: true, reason: 'Selected', message: `${compiled.intent.objects.length} objects are selected` };
}

/** Whether the placement chooses, for the condition `Placed`. */
export function describePlacement(
  problem: string | undefined,
  chosen: number,
  unknown: readonly string[],
  shortage?: string,
  /** How many clusters each rule leaves out. */
  rejected: string = '',
): PropagationFindings['placement'] {
  if (problem !== undefined) return { ok: false, reason: 'InvalidPlacement', message: problem };
  if (unknown.length > 0)
    return {
      ok: false,
      reason: 'UnknownCluster',
      message: `no SpokeCluster is named ${unknown.join(', ')}; see: kubectl get spokeclusters -A`,
    };
  if (chosen === 0)
    return {
      ok: false,
      reason: 'NoCluster',
      message: `no cluster matches the placement${rejected === '' ? '' : ` (${rejected})`}; see: kubectl get spokeclusters -A --show-labels`,
    };
  if (shortage !== undefined) return { ok: false, reason: 'Shortage', message: shortage };
  return { ok: true, reason: 'Placed', message: `${chosen} clusters are chosen` };
}

/** Whether every override applies, for the condition `OverridesApplied`. */
export function describeOverrides(plan: Plan | undefined): PropagationFindings['overrides'] {
  if (!plan || plan.overrideProblems.length === 0)
    return { ok: true, reason: 'OverridesApplied', message: 'every override applies' };
  return {
    ok: false,
    reason: 'OverrideFailed',
    message: `${plan.overrideProblems.join('; ')}. These clusters keep what they have`,
  };
}

/** Whether all that selected objects need came along, for the condition `Dependencies`; `undefined` where nothing was asked to. */
export function describeDependencies(compiled: Compiled | undefined): PropagationFindings['dependencies'] {
  const closure = compiled?.closure;
  if (!closure) return undefined;
  const lines = [
    ...closure.missing.map(
      ({ ref, neededBy }) => `${refText(ref)}, which ${refText(neededBy)} names, is not at the hub`,
    ),
    ...closure.refused.map(
      ({ ref, neededBy, reason }) =>
        `${refText(ref)}, which ${refText(neededBy)} needs, does not come along: ${reason}`,
    ),
  ];
  if (lines.length === 0)
    return { ok: true, reason: 'Complete', message: `${closure.added.length} objects come along` };
  const more = lines.length > MAX_NAMED ? `; and ${lines.length - MAX_NAMED} more` : '';
  return {
    ok: false,
    reason: closure.missing.length > 0 ? 'DependencyMissing' : 'DependencyRefused',
    message: `${lines.slice(0, MAX_NAMED).join('; ')}${more}. What selected objects need is otherwise propagated`,
  };
}

/** What of an intent others want as well: at the hub, where one of them has it, and on clusters, which tell it themselves. */
export function describeConflicts(
  lost: readonly { readonly object: string; readonly winner: string }[],
  wanted: readonly { readonly object: string; readonly by: readonly string[] }[],
  onClusters: readonly { readonly cluster: string; readonly message: string }[],
): readonly string[] {
  return [
    ...wanted.map(
      ({ object, by }) =>
        `${objectText(object)} is selected by ${by.map(keyText).join(', ')} as well; it stays with this one; select it in one only`,
    ),
    ...lost.map(
      ({ object, winner }) => `${objectText(object)} stays with ${keyText(winner)}; select it in one only`,
    ),
    ...onClusters.map(({ cluster, message }) => `on ${cluster}: ${message}`),
  ];
}

/** Of `group/Kind/namespace/name`. */
function objectText(key: string): string {
  return keyText(key.slice(key.indexOf('/') + 1));
}

/** Of `Kind/namespace/name`. */
function keyText(key: string): string {
  const [kind = '', namespace = '', name = ''] = key.split('/');
  return `${kind} ${namespace === '' ? '' : `${namespace}/`}${name}`;
}

/** A condition must stay readable. */
const MAX_NAMED = 5;
