import type { KubeObject } from './object.ts';

/** What changed in an informer's cache. Objects are shared: never change them. */
export interface Change<T extends KubeObject = KubeObject> {
  readonly type: 'added' | 'updated' | 'deleted';
  readonly object: T;
  readonly previous?: T;
}

/** A local, always current copy of one resource, kept by list and watch. */
export interface Informer<T extends KubeObject = KubeObject> {
  /** Whether the first complete list has arrived. Stays true over later disconnections. */
  readonly synced: boolean;
  /** Whether a watch stream is open now: false means that the copy may be stale. */
  readonly live: boolean;
  get(namespace: string, name: string): T | undefined;
  /** In key order (namespace, name). */
  list(namespace?: string): T[];
  /** Listeners hear of every change once, also of those that a re-list finds. Returns how to stop listening. */
  onChange(listener: (change: Change<T>) => void): () => void;
  /** Called when `live` changes, with the reason when it is lost. */
  onLive(listener: (live: boolean, error?: unknown) => void): () => void;
  /** Resolves at the first sync; rejects when stopped before. */
  whenSynced(): Promise<void>;
  stop(): void;
}
