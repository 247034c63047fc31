/**
 * Runs `action` for all items in order, at most `count` at once. After the first error nothing more is begun; it is thrown when what
 * was begun has ended.
 */
export async function withWorkers<T>(
  count: number,
  items: readonly T[],
  action: (item: T) => Promise<void>,
): Promise<void> {
  const errors: unknown[] = [];
  const rest = items.values();
  async function work(): Promise<void> {
    try {
      // They share one iterator: each item is one worker's.
      for (const item of rest) {
        await action(item);
        if (errors.length > 0) return;
      }
    } catch (error) {
      errors.push(error);
    }
  }
  await Promise.all(Array.from({ length: Math.min(count, items.length) }, work));
  if (errors.length > 0) throw errors[0];
}
