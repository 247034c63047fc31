/** So many writes at once share a commit well and hold little memory. */
const AT_ONCE = 200;

/** Runs `action` for all items, some at once. Tries all; then throws the first error, or an AggregateError of several. */
export async function eachOf<T>(items: readonly T[], action: (item: T) => Promise<void>): Promise<void> {
  const errors: unknown[] = [];
  for (let start = 0; start < items.length; start += AT_ONCE) {
    const outcomes = await Promise.allSettled(items.slice(start, start + AT_ONCE).map(action));
    for (const outcome of outcomes) if (outcome.status === 'rejected') errors.push(outcome.reason);
  }
  if (errors.length === 1) throw errors[0];
  if (errors.length > 1) throw new AggregateError(errors, `${errors.length} of ${items.length} failed`);
}
