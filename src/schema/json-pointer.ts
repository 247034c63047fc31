/** The tokens of a JSON pointer (RFC 6901), or `undefined` where the text is none. `''` is the whole document. */
export function parseJsonPointer(text: string): string[] | undefined {
  if (text === '') return [];
  if (text[0] !== '/' || /~(?![01])/.test(text)) return undefined;
  const tokens = text.slice(1).split('/');
  return text.includes('~')
    ? tokens.map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))
    : tokens;
}

export function formatJsonPointer(tokens: readonly string[]): string {
  return tokens.map((token) => `/${token.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
