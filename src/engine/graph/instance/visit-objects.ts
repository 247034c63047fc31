import { type KubeObject, refKey, refText } from '../../../kube/object.ts';
import { type GraphNode, isList } from '../compile/index.ts';
import type { DesiredObject } from './desired-object.ts';
import { desiredObjects } from './desired-objects.ts';
import { heldBack } from './holding.ts';
import { bindingsFor } from './node-scope.ts';
import { concluded } from './readiness.ts';
import type { Reason } from './reason.ts';
import { seenRemote } from './remote.ts';
import { type ManagedResource, type NodeReport, originOf, unresolvedReport, type Walk } from './walk.ts';
import { LABELS, type NodeState } from './words.ts';

/** Renders the objects of a node, and says how those that are there are. */
export function visitObjects(walk: Walk, node: GraphNode): NodeReport {
  const { options, observed } = walk;
  const made = desiredObjects(walk, node);
  if (made.reason) return unresolvedReport(node, made.reason, made.refs);
  const desired = made.objects;
  const refs = desired.map(({ ref }) => ref);
  const double = claim(walk, node, desired);
  if (double) return unresolvedReport(node, double, refs);
  const holding = heldBack(node, desired, walk.observed, bindingsFor(walk, node), walk.options.costLimit);
  if ('reason' in holding) return unresolvedReport(node, holding.reason, refs);
  walk.objects.push(...holding.objects);
  const reasons: Reason[] = [];
  const there: KubeObject[] = [];
  let state: NodeState = 'SYNCED';
  for (const { ref, digest, contributedBy, subresource } of desired) {
    const seen = observed.object(ref);
    // What is somebody else's is not made anew; nothing is added to what is going.
    const object = node.contributes && seen?.metadata.deletionTimestamp !== undefined ? null : seen;
    if (object === null && contributedBy !== undefined) {
      reasons.push({ kind: 'Absent', ref });
      continue;
    }
    if (object === undefined) {
      walk.reads.push({ kind: 'Object', node: node.id, ref });
      reasons.push({ kind: 'Unread', what: refText(ref) });
      continue;
    }
    const foreign = object && contributedBy === undefined && foreignOwner(walk, object);
    if (typeof foreign === 'string') {
      reasons.push({ kind: 'Conflict', ref, owner: foreign });
      state = 'ERROR';
      continue;
    }
    if (object?.metadata.deletionTimestamp !== undefined)
      return { id: node.id, state: 'DELETING', reasons: [{ kind: 'Deleting', ref }], refs };
    if (contributedBy !== undefined)
      walk.contributions.push({
        ref,
        wave: node.wave,
        ...(node.patches && { node: node.id }),
        ...(subresource && { subresource }),
      });
    else if (object !== null) walk.managed.push(managedResource(node.id, object));
    if (object !== null) {
      const away = node.targeted || node.onHub || originOf(walk, node) !== undefined;
      const found = away ? seenRemote(object, options.assumeReady === true) : { object };
      if ('object' in found) there.push(found.object);
      else {
        reasons.push(found.reason);
        if (found.failed) state = 'ERROR';
      }
    }
    const failure = observed.failure?.(ref, contributedBy);
    if (failure !== undefined) {
      reasons.push({ kind: 'Failed', message: `${refText(ref)}: ${failure}` });
      state = 'ERROR';
    } else if (holding.reasons.has(refKey(ref))) {
      // It stays as it is, and counts as such.
    } else if (walk.looksAhead && object?.metadata.labels?.[LABELS.partOf] !== walk.setId) {
      // Nobody may read by it what is there already: it counts once it was written.
      reasons.push({ kind: 'Apply', ref });
    } else if (object === null || (observed.applied && observed.applied(ref, contributedBy) !== digest)) {
      reasons.push({ kind: 'Apply', ref });
    }
  }
  // An object that belongs to somebody else must not be written, and what it is to be added to not be made.
  const conflicts = new Set(
    reasons.flatMap((reason) =>
      reason.kind === 'Conflict' || reason.kind === 'Absent' ? [refKey(reason.ref)] : [],
    ),
  );
  if (conflicts.size > 0)
    for (let at = walk.objects.length - 1; at >= 0; at--) {
      const object = walk.objects[at];
      if (object?.node === node.id && conflicts.has(refKey(object.ref))) walk.objects.splice(at, 1);
    }
  const value = isList(node.kind) ? there : there[0];
  if (value !== undefined) walk.values.set(node.id, value);
  if (reasons.length > 0) {
    const waits = reasons.every(({ kind }) => kind === 'Absent');
    return {
      id: node.id,
      state: state === 'ERROR' ? state : waits ? 'WAITING_FOR_READINESS' : 'IN_PROGRESS',
      reasons,
      refs,
    };
  }
  if (holding.reasons.size > 0)
    return { id: node.id, state: 'WAITING_FOR_READINESS', reasons: [...holding.reasons.values()], refs };
  return concluded(walk, node, there, refs, value);
}

function managedResource(nodeID: string, object: KubeObject): ManagedResource {
  const { namespace, name = '', uid = '' } = object.metadata;
  const { apiVersion, kind } = object;
  return { nodeID, apiVersion, kind, ...(namespace !== undefined && { namespace }), name, uid };
}

/** What another instance's mark on an object says; `undefined` where there is none. */
function foreignOwner(walk: Walk, object: KubeObject): string | undefined {
  const { labels = {} } = object.metadata;
  const set = labels[LABELS.partOf];
  if (set === undefined || set === walk.setId) return undefined;
  const name = labels[LABELS.instanceName];
  if (name === undefined) return `the set ${set}`;
  const namespace = labels[LABELS.instanceNamespace] ?? '';
  return `${labels[LABELS.instanceKind] ?? 'instance'} ${namespace === '' ? '' : `${namespace}/`}${name}`;
}

/** Two objects that are one cannot both be as they are desired. */
function claim(walk: Walk, node: GraphNode, desired: readonly DesiredObject[]): Reason | undefined {
  // Each of those that patch has a manager of its own: the API server keeps them apart.
  if (node.patches) return undefined;
  const own = new Set<string>();
  for (const { ref } of desired) {
    const key = refKey(ref);
    const other = own.has(key) ? node.id : walk.makers.get(key);
    if (other !== undefined) {
      const who = other === node.id ? 'two items of this collection are' : `node ${other} makes`;
      return { kind: 'Failed', message: `${who} ${refText(ref)}, too; each object can be made once` };
    }
    own.add(key);
  }
  for (const key of own) walk.makers.set(key, node.id);
  return undefined;
}
