/** One condition of a field selector. */
export interface FieldRequirement {
  readonly field: string;
  readonly operator: '=' | '!=';
  readonly value: string;
}

const MAX_TEXT = 64 * 1024;

/**
 * Reads `metadata.name=a,status.phase!=Running`. `==` is `=`; in values `\\`, `\,` and `\=` stand for the characters. Which
 * fields a resource has is the caller's to check.
 */
export function parseFieldSelector(text: string): readonly FieldRequirement[] | { readonly error: string } {
  if (text.length > MAX_TEXT) return { error: `a field selector may have at most ${MAX_TEXT} characters` };
  const requirements: FieldRequirement[] = [];
  for (const term of splitTerms(text)) {
    if (term === '') continue;
    const match = /^([^\\=!]*)(!=|==|=)(.*)$/s.exec(term);
    if (!match) return { error: `invalid selector: '${text}'; can't understand '${term}'` };
    const [, field = '', operator, raw = ''] = match;
    const problem = escapeProblem(raw);
    if (problem !== undefined) return { error: `invalid field selector: ${problem}` };
    const value = raw.replace(/\\([\\,=])/g, '$1');
    requirements.push({ field, operator: operator === '!=' ? '!=' : '=', value });
  }
  return requirements;
}

export function formatFieldSelector(requirements: readonly FieldRequirement[]): string {
  return requirements
    .map(({ field, operator, value }) => `${field}${operator}${value.replace(/[\\,=]/g, '\\$&')}`)
    .join(',');
}

/** Whether all requirements hold. A field that an object lacks is the empty string. */
export function matchesFields(
  requirements: readonly FieldRequirement[],
  fieldOf: (field: string) => string | undefined,
): boolean {
  for (const { field, operator, value } of requirements) {
    if (((fieldOf(field) ?? '') === value) !== (operator === '=')) return false;
  }
  return true;
}

/** The value that the selector demands of a field, where it demands one: lets a list by `metadata.name` be a get. */
export function requiredFieldValue(
  requirements: readonly FieldRequirement[],
  field: string,
): string | undefined {
  return requirements.find((item) => item.field === field && item.operator === '=')?.value;
}

function splitTerms(text: string): string[] {
  const terms: string[] = [];
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '\\') i++;
    else if (text[i] === ',') {
      terms.push(text.slice(start, i));
      start = i + 1;
    }
  }
  terms.push(text.slice(start));
  return terms;
}

function escapeProblem(raw: string): string | undefined {
  for (let at = 0; at < raw.length; at++) {
    const char = raw[at];
    if (char === '\\') {
      const next = raw[++at];
      if (next === undefined) return 'invalid escape sequence: \\';
      if (!'\\,='.includes(next)) return `invalid escape sequence: \\${next}`;
    } else if (char === ',' || char === '=') return `unescaped rune in: ${char}`;
  }
  return undefined;
}
