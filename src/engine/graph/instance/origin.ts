import { createHash } from 'node:crypto';
import type { GroupVersionKind } from '../../../kube/object.ts';

/**
 * Where an instance on the hub comes from: an instance of another cluster, whose graph has a node of a kind that only the hub serves.
 * Expressions see it under the name and namespace that it has there; its objects are there, too, where nothing else is said.
 */
export interface Origin {
  readonly cluster: string;
  /** Empty where the instance has none. */
  readonly namespace: string;
  readonly name: string;
}

/** What a step must know of an instance that comes from another cluster. */
export interface OriginOptions extends Origin {
  /** Whether objects of a kind stay on the hub: they are instances of graphs that only the hub serves. */
  readonly stays: (of: GroupVersionKind) => boolean;
}

const MAX_LABEL = 63;
const MAX_NAME = 253;
/** Enough to tell apart the few pairs of names that read alike as a whole. */
const DIGEST_LENGTH = 10;
/** Of what is cut any number of names reads alike, and a cluster in wrong hands can try them all. */
const LONG_DIGEST_LENGTH = 24;

/**
 * The namespace of the hub that holds what comes from a namespace of a cluster. The digest keeps clusters apart whatever they are
 * called, so nothing of one is ever where something of another is, or of the hub.
 */
export function hubNamespace(cluster: string, namespace: string): string {
  return withDigest(`${cluster}-${namespace}`.replace(/\./g, '-'), [cluster, namespace], MAX_LABEL);
}

/** The name on the hub of what has no namespace. */
export function hubName(cluster: string, name: string): string {
  return withDigest(`${cluster}-${name}`, [cluster, name], MAX_NAME);
}

/** Where an object is on the hub that a cluster knows by a name and a namespace. */
export function placeOnHub(
  cluster: string,
  namespaced: boolean,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): { readonly namespace: string; readonly name: string } {
  return namespaced
    ? { namespace: hubNamespace(cluster, namespace), name }
    : { namespace: '', name: hubName(cluster, name) };
}

function withDigest(readable: string, parts: readonly string[], max: number): string {
  const digest = createHash('sha256').update(JSON.stringify(parts)).digest('hex');
  if (readable.length < max - DIGEST_LENGTH && /[a-z0-9]$/.test(readable))
    return `${readable}-${digest.slice(0, DIGEST_LENGTH)}`;
  const cut = readable.slice(0, max - LONG_DIGEST_LENGTH - 1).replace(/[^a-z0-9]+$/, '');
  return `${cut}-${digest.slice(0, LONG_DIGEST_LENGTH)}`;
}
