/** One alternative of an `Accept` header, such as `application/json;as=Table;v=v1`. */
export interface MediaRange {
  /** Lower case, without parameters: `application/json`. */
  readonly type: string;
  /** Parameters without `q`; names in lower case. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** Longer headers are cut: no client has more than a few alternatives. */
const MAX_HEADER = 8192;

/** The alternatives of an `Accept` header, the most wanted first; those with q=0 are left out. Empty means anything. */
export function mediaRanges(accept: string | undefined): MediaRange[] {
  if (accept === undefined || accept.trim() === '') return [{ type: '*/*', parameters: {} }];
  const ranges: (MediaRange & { quality: number })[] = [];
  for (const clause of accept.slice(0, MAX_HEADER).split(',')) {
    const [type = '', ...pieces] = clause.split(';').map((piece) => piece.trim());
    if (type === '') continue;
    const parameters: Record<string, string> = {};
    let quality = 1;
    for (const piece of pieces) {
      const equals = piece.indexOf('=');
      if (equals < 0) continue;
      const name = piece.slice(0, equals).trim().toLowerCase();
      const value = piece.slice(equals + 1).trim();
      if (name === 'q') quality = Number.parseFloat(value);
      else parameters[name] = value;
    }
    if (quality > 0) ranges.push({ type: type.toLowerCase(), parameters, quality });
  }
  return ranges.sort((a, b) => b.quality - a.quality);
}
