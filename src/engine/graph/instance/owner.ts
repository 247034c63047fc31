import { createHash } from 'node:crypto';
import { type KubeObject, parseApiVersion } from '../../../kube/object.ts';
import { stringAt } from '../../../schema/json.ts';
import { ANNOTATIONS, LABELS, MANAGED_BY } from './words.ts';

/** Whose objects they are: the definition that an instance is of, and the engine's version. */
export interface GraphOwner {
  readonly name: string;
  readonly uid: string;
  /** Of the engine, `kro-version` on objects. */
  readonly version: string;
  /** Whether labels are written with the prefix `internal.kro.run/` as well, as they will be called one day. */
  readonly bothPrefixes?: boolean;
  /** It is a Graph, which is of no definition: it is the owner itself. */
  readonly alone?: boolean;
}

/** Labels, with those of the engine under its other prefix as well where that is asked for. */
function prefixed(labels: Record<string, string>, { bothPrefixes }: GraphOwner): Record<string, string> {
  if (bothPrefixes !== true) return labels;
  const renamed = Object.entries(labels).flatMap(([key, value]) =>
    key.startsWith('kro.run/') ? [[`internal.${key}`, value] as const] : [],
  );
  return { ...labels, ...Object.fromEntries(renamed) };
}

const MAX_LABEL = 63;

/** A text that may stand in a label: too long a one is cut and told apart by a digest. */
export function labelValue(text: string): string {
  if (text.length <= MAX_LABEL) return text;
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 10);
  return `${text.slice(0, MAX_LABEL - digest.length - 1).replace(/[^A-Za-z0-9]+$/, '')}-${digest}`;
}

/** Labels of everything that a definition brings forth: its CustomResourceDefinition and its instances. */
export function ownerLabels(owner: GraphOwner): Record<string, string> {
  const { name, uid, version } = owner;
  return prefixed(
    {
      [LABELS.owned]: 'true',
      [LABELS.version]: labelValue(version),
      ...(owner.alone !== true && { [LABELS.graphId]: uid, [LABELS.graphName]: labelValue(name) }),
      [LABELS.managedBy]: MANAGED_BY,
    },
    owner,
  );
}

/** Labels that shall be on what is there already: which version of the engine made it does not change with the engine. */
export function keepingVersion(
  wanted: Readonly<Record<string, string>>,
  present: Readonly<Record<string, string>> | undefined,
): Record<string, string> {
  const out = { ...wanted };
  for (const key of [LABELS.version, `internal.${LABELS.version}`]) {
    const before = present?.[key];
    if (before !== undefined && out[key] !== undefined) out[key] = before;
  }
  return out;
}

/** Whether labels that were made by {@link keepingVersion} would be the same with these present. */
export function keepsVersion(
  made: Readonly<Record<string, string>> | undefined,
  present: Readonly<Record<string, string>> | undefined,
): boolean {
  return [LABELS.version, `internal.${LABELS.version}`].every((key) => {
    const before = present?.[key];
    return before === undefined || made?.[key] === undefined || made[key] === before;
  });
}

/** The id of an instance's set of objects; the same for as long as the instance has its name. */
export function applySetId(instance: KubeObject): string {
  const { name = '', namespace = '' } = instance.metadata;
  const { group } = parseApiVersion(instance.apiVersion);
  const digest = createHash('sha256').update(`${name}.${namespace}.${instance.kind}.${group}`).digest();
  return `applyset-${digest.toString('base64url')}-v1`;
}

/** Who adds the fields that an instance contributes to an object of somebody else. */
export function contributionManager(instance: KubeObject): string {
  return `kro.run/contribution-${createHash('sha256').update(applySetId(instance)).digest('hex').slice(0, 16)}`;
}

/** Who adds the fields of one node of a Graph. */
export function patchManager({ metadata: { uid = '' } }: KubeObject, nodeId: string): string {
  return `kro-graphengine.patch.${createHash('sha256').update(`${uid}/${nodeId}`).digest('hex').slice(0, 12)}`;
}

/** Labels of an instance itself. */
export function instanceLabels(instance: KubeObject, owner: GraphOwner): Record<string, string> {
  return { ...ownerLabels(owner), [LABELS.setId]: applySetId(instance) };
}

export interface MemberPlace {
  readonly nodeId: string;
  readonly wave: number;
  /** Of a collection. */
  readonly index?: number;
  readonly size?: number;
}

/** Labels and annotations that an object of an instance gets. */
export function memberMarks(
  instance: KubeObject,
  owner: GraphOwner,
  place: MemberPlace,
  setId: string = applySetId(instance),
): { readonly labels: Record<string, string>; readonly annotations: Record<string, string> } {
  const { name = '', namespace = '', uid = '' } = instance.metadata;
  const { group, version } = parseApiVersion(instance.apiVersion);
  return {
    labels: prefixed(
      {
        ...ownerLabels(owner),
        [LABELS.partOf]: setId,
        [LABELS.nodeId]: labelValue(place.nodeId),
        ...(place.index !== undefined && { [LABELS.collectionIndex]: String(place.index) }),
        ...(place.size !== undefined && { [LABELS.collectionSize]: String(place.size) }),
        [LABELS.instanceId]: uid,
        [LABELS.instanceName]: labelValue(name),
        ...(namespace !== '' && { [LABELS.instanceNamespace]: labelValue(namespace) }),
        [LABELS.instanceGroup]: labelValue(group),
        [LABELS.instanceVersion]: version,
        [LABELS.instanceKind]: instance.kind,
      },
      owner,
    ),
    annotations: { [ANNOTATIONS.applyOrder]: String(place.wave) },
  };
}

/** Whether the instance says that nothing of it shall be touched. */
export function isSuspended(instance: KubeObject): boolean {
  const said = stringAt(instance, 'metadata', 'annotations', ANNOTATIONS.reconcile)?.toLowerCase();
  return said === 'suspended' || said === 'disabled';
}
