/** What is remembered of an intent whose changes wait for its objects. JSON. */
export interface Activation {
  /** Generation of the intent that is in force; 0 where none is yet. */
  readonly active: number;
  /** A later one that waits, and the digest of what it selected when it was seen first. */
  readonly waiting?: { readonly generation: number; readonly content: string };
}

/**
 * Whether an intent that is activated lazily holds still: a change of it is carried out with the next change of what it
 * selects, and not before. The first version counts as a change.
 */
export function stepActivation(
  before: Activation | undefined,
  generation: number,
  content: string,
): { readonly holds: boolean; readonly activation: Activation } {
  const { active = 0, waiting } = before ?? {};
  if (generation === active) return { holds: false, activation: { active } };
  if (waiting === undefined) return { holds: true, activation: { active, waiting: { generation, content } } };
  if (waiting.content === content)
    return { holds: true, activation: { active, waiting: { ...waiting, generation } } };
  return { holds: false, activation: { active: generation } };
}
