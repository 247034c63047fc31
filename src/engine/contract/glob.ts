/** Whether a name fits a pattern in which `*` stands for any characters and `?` for one. Takes no more than the product of both lengths. */
export function matchesGlob(pattern: string, name: string): boolean {
  let p = 0;
  let n = 0;
  let star = -1;
  let taken = 0;
  while (n < name.length) {
    if (p < pattern.length && (pattern[p] === name[n] || pattern[p] === '?') && pattern[p] !== '*') {
      p += 1;
      n += 1;
    } else if (p < pattern.length && pattern[p] === '*') {
      star = p;
      taken = n;
      p += 1;
    } else if (star >= 0) {
      // The last star takes one character more.
      p = star + 1;
      taken += 1;
      n = taken;
    } else return false;
  }
  while (pattern[p] === '*') p += 1;
  return p === pattern.length;
}

export function matchesAny(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => matchesGlob(pattern, name));
}
