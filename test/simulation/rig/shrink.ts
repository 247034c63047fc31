/**
 * The shortest list, found by leaving out ever smaller parts, that still fails (delta debugging). `fails` is asked `budget`
 * times at the most.
 */
export async function shrink<T>(
  items: readonly T[],
  fails: (items: readonly T[]) => Promise<boolean>,
  budget: number = 200,
): Promise<readonly T[]> {
  let present = items;
  let asked = 0;
  let size = Math.ceil(present.length / 2);
  while (size >= 1 && asked < budget) {
    let found = false;
    for (let at = 0; at < present.length && asked < budget; ) {
      const without = [...present.slice(0, at), ...present.slice(at + size)];
      asked += 1;
      if (without.length < present.length && (await fails(without))) {
        present = without;
        found = true;
      } else at += size;
    }
    if (!found || size === 1) size = size === 1 && found ? 1 : Math.floor(size / 2);
  }
  return present;
}
