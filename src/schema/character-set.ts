/** A set of characters as it is written: ranges of code points and Unicode properties, perhaps negated, perhaps in any case. */
export interface CharacterSetSource {
  /** First and last code point of each range. */
  readonly ranges: readonly (readonly [number, number])[];
  /** Sets within the set: `\D`, `\pL`, `[:^alpha:]`. */
  readonly sets: readonly CharacterSetSource[];
  /** One character that must match for it to be in the set. */
  readonly property?: RegExp;
  readonly negated: boolean;
  readonly ignoreCase: boolean;
}

export interface CharacterSet {
  readonly has: (character: number) => boolean;
}

/** A set made ready for many questions: ASCII is looked up in a table. */
export function characterSet(source: CharacterSetSource): CharacterSet {
  const ascii = Uint8Array.from({ length: 128 }, (_, character) => (contains(source, character) ? 1 : 0));
  return { has: (character) => (character < 128 ? ascii[character] === 1 : contains(source, character)) };
}

function contains(source: CharacterSetSource, character: number): boolean {
  let found = containsExactly(source, character);
  if (!found && source.ignoreCase) {
    const text = String.fromCodePoint(character);
    found =
      otherCase(source, character, text.toLowerCase()) || otherCase(source, character, text.toUpperCase());
  }
  return found !== source.negated;
}

function otherCase(source: CharacterSetSource, character: number, text: string): boolean {
  const other = text.codePointAt(0) ?? character;
  return other !== character && text.length === (other > 0xffff ? 2 : 1) && containsExactly(source, other);
}

function containsExactly(source: CharacterSetSource, character: number): boolean {
  for (const [first, last] of source.ranges) if (character >= first && character <= last) return true;
  if (source.property?.test(String.fromCodePoint(character))) return true;
  return source.sets.some((set) => contains(set, character));
}

export function isWordCharacter(character: number): boolean {
  return (
    (character >= 48 && character <= 57) ||
    (character >= 65 && character <= 90) ||
    character === 95 ||
    (character >= 97 && character <= 122)
  );
}

export function setOf(
  ranges: readonly (readonly [number, number])[],
  options: Partial<CharacterSetSource> = {},
): CharacterSetSource {
  return { ranges, sets: [], negated: false, ignoreCase: false, ...options };
}

function named(text: string): CharacterSetSource {
  const ranges: [number, number][] = [];
  for (const [, first = '', last = first] of text.matchAll(/(.)(?:-(.))?/gs)) {
    ranges.push([first.charCodeAt(0), last.charCodeAt(0)]);
  }
  return setOf(ranges);
}

/** `\d`, `\s`, `\w`. */
export const PERL_SETS: Readonly<Record<string, CharacterSetSource>> = {
  d: named('0-9'),
  s: named('\t\n\f\r '),
  w: named('0-9A-Za-z_'),
};

/** `[:alpha:]` and the like. */
export const POSIX_SETS: ReadonlyMap<string, CharacterSetSource> = new Map([
  ['alnum', named('0-9A-Za-z')],
  ['alpha', named('A-Za-z')],
  ['ascii', named('\u0000-\u007f')],
  ['blank', named('\t ')],
  ['cntrl', named('\u0000-\u001f\u007f')],
  ['digit', named('0-9')],
  ['graph', named('!-~')],
  ['lower', named('a-z')],
  ['print', named(' -~')],
  ['punct', named('!-/:-@[-`{-~')],
  ['space', named('\t-\r ')],
  ['upper', named('A-Z')],
  ['word', named('0-9A-Za-z_')],
  ['xdigit', named('0-9A-Fa-f')],
]);

/** `\p{Greek}`, `\pL`: a general category or a script. `undefined` where there is none of that name. */
export function propertySet(name: string): CharacterSetSource | undefined {
  if (name === 'Any') return setOf([[0, 0x10ffff]]);
  if (!/^[A-Za-z_]+$/.test(name)) return undefined;
  for (const expression of [`gc=${name}`, `sc=${name}`]) {
    try {
      return setOf([], { property: new RegExp(`^\\p{${expression}}$`, 'u') });
    } catch (error) {
      // That is how JavaScript says that it knows no such property; the next table may.
      if (!(error instanceof SyntaxError)) throw error;
    }
  }
  return undefined;
}
