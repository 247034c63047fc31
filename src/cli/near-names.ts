const MAX_NAMES = 5;
/** Names are compared letter by letter; longer ones are not worth it. */
const MAX_LENGTH = 253;

/** Those of the names that someone may have meant by `wanted`, the nearest first. */
export function nearest(wanted: string, names: Iterable<string>): string[] {
  const word = wanted.toLowerCase().slice(0, MAX_LENGTH);
  const allowed = Math.max(1, Math.floor(word.length / 3));
  const scored: { name: string; distance: number }[] = [];
  for (const name of new Set(names)) {
    const other = name.toLowerCase();
    if (other === '' || other.length > MAX_LENGTH) continue;
    const part = word.length >= 3 && other.length >= 3 && (other.includes(word) || word.includes(other));
    const distance = part ? 0 : editDistance(word, other, allowed);
    if (distance <= allowed) scored.push({ name, distance });
  }
  scored.sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1));
  return scored.slice(0, MAX_NAMES).map(({ name }) => name);
}

/** Letters to add, take away or change between two words; anything above `limit` where there are more. */
function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return limit + 1;
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const changed = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(changed, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    if (Math.min(...next) > limit) return limit + 1;
    row = next;
  }
  return row[b.length] ?? 0;
}
