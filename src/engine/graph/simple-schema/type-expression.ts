/** What is written before the `|` of a leaf. */
export type TypeExpression =
  | { readonly kind: 'named'; readonly name: string }
  | { readonly kind: 'list'; readonly element: TypeExpression }
  | { readonly kind: 'map'; readonly value: TypeExpression };

export const SCALARS = ['string', 'integer', 'boolean', 'float', 'object'] as const;
export type Scalar = (typeof SCALARS)[number];

export function isScalar(name: string): name is Scalar {
  return (SCALARS as readonly string[]).includes(name);
}

/** Beyond any depth that a schema may have; keeps the recursion in bounds. */
const MAX_LEVELS = 64;

/** `[]map[string]Person`; a text that says what is wrong with it. */
export function parseTypeExpression(text: string, level = 0): TypeExpression | string {
  const type = text.trim();
  if (level > MAX_LEVELS) return 'the type nests too deeply';
  if (type === '') return 'the type is missing';
  if (type.startsWith('[]')) {
    const element = parseTypeExpression(type.slice(2), level + 1);
    return typeof element === 'string' ? element : { kind: 'list', element };
  }
  if (type.startsWith('map[')) {
    const end = type.indexOf(']');
    if (end < 0) return `"${type}" has no closing bracket`;
    const key = type.slice(4, end).trim();
    if (key !== 'string') return `keys of maps are strings, not "${key}"`;
    const value = parseTypeExpression(type.slice(end + 1), level + 1);
    return typeof value === 'string' ? value : { kind: 'map', value };
  }
  return { kind: 'named', name: type };
}

/** The name at the bottom of it. */
export function innermostName(type: TypeExpression): string {
  if (type.kind === 'named') return type.name;
  return innermostName(type.kind === 'list' ? type.element : type.value);
}
