import {
  asJson,
  asObject,
  type KubeObject,
  type ObjectRef,
  refKey,
  refOf,
  refText,
} from '../../../kube/object.ts';
import { isObject, type JsonObject, type JsonValue, stringAt } from '../../../schema/json.ts';
import { type LabelSelector, selectorFromObject } from '../../../schema/label-selector.ts';
import { digestOf } from '../../digest.ts';
import { CONTRIBUTE, type CompiledGraph, type GraphNode, isList } from '../compile/index.ts';
import {
  CLOCK,
  type Expression,
  evaluateExpression,
  type GraphClock,
  graphClock,
} from '../expression/index.ts';
import { renderTemplate, type UnresolvedField } from '../template/index.ts';
import { dimensionsOf, MAX_COLLECTION_SIZE } from './collection.ts';
import { heldBack } from './holding.ts';
import {
  type Contribution,
  EMPTY_INVENTORY,
  type Inventory,
  inventoryOf,
  readInventory,
  unionInventory,
} from './inventory.ts';
import type { ObjectQuery, Observed, Read } from './observed.ts';
import { applySetId, contributionManager, type GraphOwner, keepingVersion, memberMarks } from './owner.ts';
import type { Reason } from './reason.ts';
import { remoteObject, seenRemote } from './remote.ts';
import { LABELS, type NodeState, WISHES } from './words.ts';

/** An object as it shall be. */
export interface DesiredObject {
  readonly node: string;
  readonly ref: ObjectRef;
  /** With all labels and annotations of the engine. */
  readonly object: KubeObject;
  /** Of the object; what was applied with the same digest need not be applied again. */
  readonly digest: string;
  /** Who writes it, where it is an object of somebody else's that fields are added to. */
  readonly contributedBy?: string;
  /** It is wanted, and not to be written now. */
  readonly held?: boolean;
}

/** An object of the instance, as it is. */
export interface ManagedResource {
  readonly nodeID: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly uid: string;
}

export interface NodeReport {
  readonly id: string;
  readonly state: NodeState;
  /** Empty where the node is SYNCED. */
  readonly reasons: readonly Reason[];
  /** The objects of the node, as far as they are known. */
  readonly refs: readonly ObjectRef[];
}

export interface InstanceStep {
  /** In the order in which nodes are made. */
  readonly nodes: readonly NodeReport[];
  /** What must be looked at before the step says more. */
  readonly reads: readonly Read[];
  /** All objects that are known now, in the order of their nodes; to be applied where their digest is not what was applied. */
  readonly objects: readonly DesiredObject[];
  /** Those objects of it that are there. */
  readonly managed: readonly ManagedResource[];
  /** To be on the instance before any object is applied: what was remembered, and these objects. */
  readonly inventory: Inventory;
  /** To be on the instance once everything else is gone. */
  readonly shrunkInventory: Inventory;
  /** Every node is either left out or known in full, so that what is not desired may go. */
  readonly settled: boolean;
  /** Every node is SYNCED or left out. */
  readonly ready: boolean;
  /** Objects of nodes as expressions see them; what status and conditions are computed from. */
  readonly bindings: Readonly<Record<string, unknown>>;
  /** Instants at which expressions are to be evaluated anew; those of the status are added as it is computed. */
  readonly wakes: readonly number[];
}

export interface StepOptions {
  readonly owner: GraphOwner;
  /** 1000 by default. */
  readonly maxCollectionSize?: number;
  /** Of one expression. */
  readonly costLimit?: number;
  /** Whatever is there counts as ready; for looking ahead. */
  readonly assumeReady?: boolean;
  /** What `time.now` tells, milliseconds since the epoch; without it that is an error. */
  readonly now?: number;
}

interface Walk {
  readonly instance: KubeObject;
  readonly observed: Observed;
  readonly options: StepOptions;
  readonly setId: string;
  readonly clock: GraphClock;
  /** What expressions of ready nodes' dependants see. */
  readonly bindings: Record<string, unknown>;
  readonly reads: Read[];
  readonly objects: DesiredObject[];
  readonly managed: ManagedResource[];
  readonly contributions: Contribution[];
  /** By {@link refKey}, the node that makes it. */
  readonly makers: Map<string, string>;
  readonly reports: Map<string, NodeReport>;
  readonly values: Map<string, unknown>;
}

/**
 * One step of an instance: from what is known of the cluster to what shall be there, what to look at next and why nodes wait. Pure;
 * stepping again with more that is known, until nothing is left to read or to apply, is how an instance gets on.
 */
export function stepInstance(
  graph: CompiledGraph,
  instance: KubeObject,
  observed: Observed,
  options: StepOptions,
): InstanceStep {
  const { status: _status, ...schema } = instance;
  const clock = graphClock(options.now);
  const walk: Walk = {
    instance,
    observed,
    options,
    setId: applySetId(instance),
    clock,
    bindings: { schema, [CLOCK]: clock },
    reads: [],
    objects: [],
    managed: [],
    contributions: [],
    makers: new Map(),
    reports: new Map(),
    values: new Map(),
  };
  let deleting = false;
  for (const node of graph.nodes) {
    const report: NodeReport = deleting
      ? { id: node.id, state: 'IN_PROGRESS', reasons: deletingReasons(walk), refs: [] }
      : visitNode(walk, node);
    walk.reports.set(node.id, report);
    if (report.state === 'DELETING') deleting = true;
  }
  const nodes = [...walk.reports.values()];
  const objects = deleting ? [] : walk.objects;
  const own = inventoryOf(
    objects.filter(({ contributedBy }) => contributedBy === undefined).map(({ ref }) => ref),
    instance,
    deleting ? [] : walk.contributions,
  );
  const remembered = readInventory(instance);
  return {
    nodes,
    reads: walk.reads,
    objects,
    managed: walk.managed,
    inventory: unionInventory(remembered.kind === 'Read' ? remembered.inventory : EMPTY_INVENTORY, own),
    shrunkInventory: own,
    settled: nodes.every(({ id, state }) => isSettled(walk, id, state)),
    ready: nodes.every(({ state }) => state === 'SYNCED' || state === 'SKIPPED'),
    bindings: { schema, [CLOCK]: clock, ...Object.fromEntries(walk.values) },
    wakes: clock.wakes,
  };
}

function isSettled(walk: Walk, id: string, state: NodeState): boolean {
  if (state === 'SYNCED' || state === 'SKIPPED' || state === 'WAITING_FOR_READINESS') return true;
  // What is about to be applied is known; what failed is not done.
  return (
    state === 'IN_PROGRESS' &&
    (walk.reports.get(id)?.reasons ?? []).length > 0 &&
    (walk.reports.get(id)?.reasons ?? []).every((reason) => reason.kind === 'Apply')
  );
}

function deletingReasons({ reports }: Walk): Reason[] {
  return [...reports.values()].flatMap(({ reasons }) => reasons.filter(({ kind }) => kind === 'Deleting'));
}

function visitNode(walk: Walk, node: GraphNode): NodeReport {
  const report = (
    state: NodeState,
    reasons: readonly Reason[],
    refs: readonly ObjectRef[] = [],
  ): NodeReport => ({
    id: node.id,
    state,
    reasons,
    refs,
  });
  const out = node.dependencies.find((id) => walk.reports.get(id)?.state === 'SKIPPED');
  if (out !== undefined) return report('SKIPPED', [{ kind: 'ExcludedBy', node: out }]);
  const included = inclusion(walk, node);
  if (included) return report(included.state, [included.reason]);
  const waits = node.dependencies.filter((id) => !isReady(walk, id));
  if (waits.length > 0)
    return report(
      'IN_PROGRESS',
      waits.map((id) => ({ kind: 'Dependency', node: id })),
    );
  switch (node.kind) {
    case 'External':
      return visitExternal(walk, node);
    case 'ExternalCollection':
      return visitSelected(walk, node);
    case 'Value':
      return visitValue(walk, node);
    default:
      return visitObjects(walk, node);
  }
}

function isReady(walk: Walk, id: string): boolean {
  return id === 'schema' || walk.reports.get(id)?.state === 'SYNCED';
}

/** Why a node is left out, or why that cannot be said yet. */
function inclusion(walk: Walk, node: GraphNode): { state: NodeState; reason: Reason } | undefined {
  let waiting: { state: NodeState; reason: Reason } | undefined;
  for (const [index, expression] of node.includeWhen.entries()) {
    const wait = expression.references.find((id) => !isReady(walk, id));
    if (wait !== undefined) {
      waiting ??= { state: 'IN_PROGRESS', reason: { kind: 'Dependency', node: wait } };
      continue;
    }
    const { value, unresolved } = evaluateExpression(expression, walk.bindings, walk.options.costLimit);
    if (unresolved) {
      const reason = reasonOf({ ...unresolved, path: `includeWhen[${index}]` });
      waiting ??= { state: reason.kind === 'Failed' ? 'ERROR' : 'IN_PROGRESS', reason };
    } else if (value === false) {
      // One that is false is enough, whatever the others come to.
      return { state: 'SKIPPED', reason: { kind: 'Excluded', expression: expression.source } };
    } else if (value !== true) {
      const reason: Reason = {
        kind: 'Failed',
        expression: expression.source,
        message: 'the value is no bool',
      };
      waiting ??= { state: 'ERROR', reason };
    }
  }
  return waiting;
}

function reasonOf({ kind, path, expression, message }: UnresolvedField): Reason {
  return kind === 'Pending'
    ? { kind: 'Value', path, expression, message }
    : { kind: 'Failed', path, expression, message };
}

function unresolvedReport(node: GraphNode, reason: Reason, refs: readonly ObjectRef[] = []): NodeReport {
  return { id: node.id, state: reason.kind === 'Failed' ? 'ERROR' : 'IN_PROGRESS', reasons: [reason], refs };
}

/** The metadata of what is external, with its namespace. */
function externalMetadata(
  walk: Walk,
  node: GraphNode,
): { metadata: JsonObject; namespace: string | undefined } | { reason: Reason } {
  const { value, unresolved } = renderTemplate(node.template, walk.bindings, walk.options.costLimit);
  if (unresolved) return { reason: reasonOf(unresolved) };
  const metadata = isObject(value['metadata']) ? value['metadata'] : {};
  return { metadata, namespace: stringAt(metadata, 'namespace') };
}

function visitExternal(walk: Walk, node: GraphNode): NodeReport {
  const found = externalMetadata(walk, node);
  if ('reason' in found) return unresolvedReport(node, found.reason);
  const name = stringAt(found.metadata, 'name') ?? '';
  const own = walk.instance.metadata.namespace ?? '';
  const ref: ObjectRef = {
    apiVersion: node.apiVersion,
    kind: node.of.kind,
    namespace: node.namespaced ? (found.namespace ?? own) : '',
    name,
  };
  if (name === '')
    return unresolvedReport(node, { kind: 'Failed', message: 'the name of what is external is empty' });
  const object = walk.observed.object(ref);
  if (object === undefined)
    return unread(walk, node, { kind: 'Object', node: node.id, ref }, refText(ref), [ref]);
  if (object === null)
    return { id: node.id, state: 'WAITING_FOR_READINESS', reasons: [{ kind: 'Absent', ref }], refs: [ref] };
  walk.values.set(node.id, object);
  return concluded(walk, node, [object], [ref], object);
}

function visitValue(walk: Walk, node: GraphNode): NodeReport {
  const { value, unresolved } = renderTemplate(node.template, walk.bindings, walk.options.costLimit);
  if (unresolved) return unresolvedReport(node, reasonOf(unresolved));
  walk.values.set(node.id, value['value']);
  walk.bindings[node.id] = value['value'];
  return { id: node.id, state: 'SYNCED', reasons: [], refs: [] };
}

function visitSelected(walk: Walk, node: GraphNode): NodeReport {
  const found = externalMetadata(walk, node);
  if ('reason' in found) return unresolvedReport(node, found.reason);
  const selector = (found.metadata['selector'] ?? {}) as LabelSelector;
  const { issues } = selectorFromObject(selector);
  if (issues.length > 0)
    return unresolvedReport(node, {
      kind: 'Failed',
      message: `the selector is none: ${issues.map(({ detail }) => detail).join('; ')}`,
    });
  const query: ObjectQuery = {
    apiVersion: node.apiVersion,
    kind: node.of.kind,
    namespace: node.namespaced ? (found.namespace ?? '') : '',
    selector,
  };
  const objects = walk.observed.selected(query);
  if (objects === undefined)
    return unread(walk, node, { kind: 'Selected', node: node.id, query }, `${query.kind} by selector`, []);
  walk.values.set(node.id, objects);
  return concluded(walk, node, objects, objects.map(refOf), objects);
}

function unread(
  walk: Walk,
  node: GraphNode,
  read: Read,
  what: string,
  refs: readonly ObjectRef[],
): NodeReport {
  walk.reads.push(read);
  return { id: node.id, state: 'IN_PROGRESS', reasons: [{ kind: 'Unread', what }], refs };
}

/** Renders the objects of a node, and says how those that are there are. */
function visitObjects(walk: Walk, node: GraphNode): NodeReport {
  const { options, observed } = walk;
  const dimensions = dimensionsOf(node, walk.bindings, {
    maxCollectionSize: options.maxCollectionSize ?? MAX_COLLECTION_SIZE,
    costLimit: options.costLimit,
  });
  if (dimensions.reason) return unresolvedReport(node, dimensions.reason);
  const desired: DesiredObject[] = [];
  for (const [index, variables] of dimensions.items.entries()) {
    const made = desiredObject(walk, node, variables, index, dimensions.items.length);
    if ('reason' in made)
      return unresolvedReport(
        node,
        made.reason,
        desired.map(({ ref }) => ref),
      );
    desired.push(made);
  }
  const refs = desired.map(({ ref }) => ref);
  const double = claim(walk, node, desired);
  if (double) return unresolvedReport(node, double, refs);
  const holding = heldBack(node, desired, walk.observed, walk.bindings, walk.options.costLimit);
  if ('reason' in holding) return unresolvedReport(node, holding.reason, refs);
  walk.objects.push(...holding.objects);
  const reasons: Reason[] = [];
  const there: KubeObject[] = [];
  let state: NodeState = 'SYNCED';
  for (const { ref, digest, contributedBy } of desired) {
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
    if (contributedBy !== undefined) walk.contributions.push({ ref, wave: node.wave });
    else if (object !== null) walk.managed.push(managedResource(node.id, object));
    if (object !== null) {
      const found = node.targeted ? seenRemote(object, options.assumeReady === true) : { object };
      if ('object' in found) there.push(found.object);
      else {
        reasons.push(found.reason);
        if (found.failed) state = 'ERROR';
      }
    }
    const failure = observed.failure?.(ref);
    if (failure !== undefined) {
      reasons.push({ kind: 'Failed', message: `${refText(ref)}: ${failure}` });
      state = 'ERROR';
    } else if (holding.reasons.has(refKey(ref))) {
      // It stays as it is, and counts as such.
    } else if (object === null || (observed.applied && observed.applied(ref) !== digest)) {
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

function desiredObject(
  walk: Walk,
  node: GraphNode,
  variables: Readonly<Record<string, unknown>>,
  index: number,
  size: number,
): DesiredObject | { reason: Reason } {
  const { instance, options } = walk;
  const bindings = { ...walk.bindings, ...variables };
  const { value, unresolved } = renderTemplate(node.template, bindings, options.costLimit);
  if (unresolved) return { reason: reasonOf(unresolved) };
  const metadata = isObject(value['metadata']) ? value['metadata'] : {};
  const name = stringAt(metadata, 'name') ?? '';
  if (name === '') return { reason: { kind: 'Failed', path: 'metadata.name', message: 'the name is empty' } };
  const own = instance.metadata.namespace ?? '';
  const namespace = node.namespaced ? (stringAt(metadata, 'namespace') ?? own) : '';
  if (node.namespaced && namespace === '')
    return { reason: { kind: 'Failed', path: 'metadata.namespace', message: 'the namespace is empty' } };
  if (node.contributes) {
    const { labels, annotations, ...rest } = metadata;
    const kept = isObject(annotations)
      ? Object.fromEntries(Object.entries(annotations).filter(([key]) => key !== CONTRIBUTE))
      : {};
    const object = asObject({
      ...value,
      metadata: {
        ...rest,
        ...(namespace !== '' && { namespace }),
        ...(isObject(labels) && { labels }),
        ...(Object.keys(kept).length > 0 && { annotations: kept }),
      },
    });
    return {
      node: node.id,
      ref: refOf(object),
      object,
      digest: digestOf(asJson(object)),
      contributedBy: contributionManager(instance),
    };
  }
  if (node.targeted) {
    const written = asObject({ ...value, metadata: { ...metadata, ...(namespace !== '' && { namespace }) } });
    const marks = memberMarks(instance, options.owner, {
      nodeId: node.id,
      wave: node.wave,
      ...(node.kind === 'Collection' && { index, size }),
    });
    const all = { ...marks, setId: walk.setId, nodeId: node.id };
    const remote = remoteObject(written, all, walk.observed.object);
    if ('reason' in remote) return remote;
    const { object } = remote;
    return { node: node.id, ref: refOf(object), object, digest: digestOf(asJson(object)) };
  }
  const references = ownerReferences(walk, metadata, namespace);
  if ('reason' in references) return references;
  const ref: ObjectRef = { apiVersion: node.apiVersion, kind: node.of.kind, namespace, name };
  const marks = memberMarks(instance, options.owner, {
    nodeId: node.id,
    wave: node.wave,
    ...(node.kind === 'Collection' && { index, size }),
  });
  const object = asObject({
    ...value,
    metadata: {
      ...metadata,
      ...(namespace !== '' && { namespace }),
      ...references,
      labels: {
        ...(isObject(metadata['labels']) ? metadata['labels'] : {}),
        ...keepingVersion(marks.labels, walk.observed.object(ref)?.metadata.labels),
      },
      annotations: {
        ...(isObject(metadata['annotations']) ? metadata['annotations'] : {}),
        ...marks.annotations,
      },
    },
  });
  return { node: node.id, ref: refOf(object), object, digest: digestOf(asJson(object)) };
}

/** The instance as an owner of the object, where the template asks for it. */
function ownerReferences(
  { instance }: Walk,
  metadata: JsonObject,
  namespace: string,
): { readonly ownerReferences?: JsonValue } | { readonly reason: Reason } {
  if (stringAt(metadata, 'annotations', WISHES.ownerReference) !== 'true') return {};
  const { name = '', uid = '', namespace: own } = instance.metadata;
  if (own !== undefined && own !== namespace)
    return {
      reason: {
        kind: 'Failed',
        path: 'metadata.namespace',
        message: `an object in ${namespace === '' ? 'no namespace' : `the namespace ${namespace}`} cannot be owned by an instance in ${own}`,
      },
    };
  const { apiVersion, kind } = instance;
  const written = metadata['ownerReferences'];
  const reference = { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
  return { ownerReferences: [...(Array.isArray(written) ? written : []), reference] };
}

/** Whether what is there is ready. */
function concluded(
  walk: Walk,
  node: GraphNode,
  objects: readonly KubeObject[],
  refs: readonly ObjectRef[],
  value: unknown,
): NodeReport {
  const reasons: Reason[] = [];
  if (walk.options.assumeReady !== true) {
    for (const object of objects) {
      const bindings = { [CLOCK]: walk.clock, [isList(node.kind) ? 'each' : node.id]: object };
      for (const expression of node.readyWhen) {
        const reason = unreadiness(walk, expression, bindings, refOf(object));
        if (reason) reasons.push(reason);
      }
    }
  }
  const failed = reasons.some(({ kind }) => kind === 'Failed');
  if (reasons.length > 0)
    return { id: node.id, state: failed ? 'ERROR' : 'WAITING_FOR_READINESS', reasons, refs };
  walk.bindings[node.id] = value;
  return { id: node.id, state: 'SYNCED', reasons: [], refs };
}

function unreadiness(
  walk: Walk,
  expression: Expression,
  bindings: Readonly<Record<string, unknown>>,
  ref: ObjectRef,
): Reason | undefined {
  const { value, unresolved } = evaluateExpression(expression, bindings, walk.options.costLimit);
  const { source } = expression;
  if (unresolved?.kind === 'Failed')
    return { kind: 'Failed', path: 'readyWhen', expression: source, message: unresolved.message };
  if (unresolved)
    return { kind: 'NotReady', ref, expression: source, message: `not known (${unresolved.message})` };
  if (value === true) return undefined;
  if (value === false) return { kind: 'NotReady', ref, expression: source };
  return { kind: 'Failed', path: 'readyWhen', expression: source, message: 'the value is no bool' };
}
