import type { KubeObject, ObjectRef } from '../kube/object.ts';
import type { Closure } from './closure/index.ts';
import type { Intent } from './intent.ts';

/** What a dialect's object comes to. */
export interface Compiled {
  readonly intent: Intent;
  /** Selected, but never sent: with the reason. */
  readonly skipped: readonly { ref: ObjectRef; reason: string }[];
  /** Selectors (by position) that match nothing. */
  readonly emptySelectors: readonly number[];
  /** What cannot be understood, such as a selector. Nothing must be dispatched, and nothing taken away, while there is any. */
  readonly problems: readonly string[];
  /** What came along, what is named and not there, and what was left behind; absent where nothing was asked to come along. */
  readonly closure?: Closure;
  /** The objects of the hub that the content was made of, as they were then. Absent where it was made of something else. */
  readonly templates?: readonly KubeObject[];
  /** Clusters that keep what they have although they are chosen, with the reason. */
  readonly blocked?: ReadonlyMap<string, string>;
}
