/** One alternative of an `Accept` header, such as `application/json;as=Table;v=v1`. */
export interface MediaRange {
  /** Without parameters: `application/json`. Compared as it stands, as other servers do. */
  readonly type: string;
  /** Parameters without `q`. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** Longer headers are cut: no client has more than a few alternatives. */
const MAX_HEADER = 8192;

/**
 * The alternatives of an `Accept` header, the most wanted first. Empty means anything, and so does `*`; a `q` that is no number
 * counts as 1. None is left out: q=0 is wanted least.
 */
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
      const name = piece.slice(0, equals).trim();
      const value = piece.slice(equals + 1).trim();
      if (name === 'q') quality = numberOr(value, 1);
      else parameters[name] = value;
    }
    ranges.push({ type: type === '*' ? '*/*' : type, parameters, quality });
  }
  return ranges.sort((a, b) => b.quality - a.quality);
}

function numberOr(text: string, otherwise: number): number {
  const value = Number(text);
  return text !== '' && Number.isFinite(value) ? value : otherwise;
}
