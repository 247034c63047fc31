/**
 * Does `action` `count` times: once, then 2, 4, 8 … at a time. When one fails no further batch is begun, so that a quota
 * or a defect costs a few refused requests and not thousands. Throws the first failure.
 */
export async function slowStart(count: number, action: (index: number) => Promise<unknown>): Promise<void> {
  let batch = 1;
  for (let done = 0; done < count; ) {
    const size = Math.min(batch, count - done);
    const results = await Promise.allSettled(
      Array.from({ length: size }, (_, index) => action(done + index)),
    );
    for (const result of results) if (result.status === 'rejected') throw result.reason;
    done += size;
    batch = Math.min(batch * 2, 256);
  }
}
