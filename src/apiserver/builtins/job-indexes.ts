/** Lists of the indexes of an indexed Job, as rules and statuses write them. */

/** `1,3-5,7`: how many indexes that are; `error` where it is none of a Job with that many completions. */
export function readIndexes(text: string, completions: number): { total: number; error?: string } {
  let total = 0;
  let last = -1;
  if (text === '') return { total };
  for (const part of text.split(',')) {
    const [first = '', end = first, ...more] = part.split('-');
    if (more.length > 0)
      return {
        total: 0,
        error: `the fragment ${JSON.stringify(part)} violates the requirement that an index interval can have at most two parts separated by '-'`,
      };
    for (const item of [first, end]) {
      if (!/^[+-]?\d+$/.test(item)) {
        return { total: 0, error: `cannot convert string to integer for index: ${JSON.stringify(item)}` };
      }
      if (Number(item) >= completions) return { total: 0, error: `too large index: ${JSON.stringify(item)}` };
    }
    if (Number(first) <= last) {
      return { total: 0, error: `non-increasing order, previous: ${last}, current: ${Number(first)}` };
    }
    if (Number(end) < Number(first)) {
      return { total: 0, error: `non-increasing order, previous: ${Number(first)}, current: ${Number(end)}` };
    }
    total += Number(end) - Number(first) + 1;
    last = Number(end);
  }
  return { total };
}
