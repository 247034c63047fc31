import {
  type Mark,
  type Token,
  type TokenKind,
  YamlProblem,
  type YamlScanner,
  yamlScanner,
} from './yaml-scanner.ts';

/** Deeper nesting is refused for its depth, before anybody asks for its problems. */
const MAX_DEPTH = 1000;
/** Characters that no YAML text has, quoted or not. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u0084\u0086-\u009f\ufffe\uffff]/;

class TooDeep extends Error {}

/**
 * What is wrong with the first document of a text that is not YAML, in the words in which servers of Kubernetes say it:
 * `line 2: mapping values are not allowed in this context`. Clients show these texts and people search for them. `undefined`
 * when nothing is wrong, or nothing that has such words.
 */
export function yamlProblem(text: string): string | undefined {
  if (FORBIDDEN.test(text)) return 'control characters are not allowed';
  const reader: Reader = { scanner: yamlScanner(text), anchors: new Set(), handles: new Set() };
  try {
    readDocument(reader);
    return undefined;
  } catch (error) {
    if (error instanceof YamlProblem) return error.message;
    if (error instanceof TooDeep) return undefined;
    throw error;
  }
}

interface Reader {
  readonly scanner: YamlScanner;
  readonly anchors: Set<string>;
  /** Of tags, as directives declare them. */
  readonly handles: Set<string>;
}

function fail(message: string, { line }: Mark): never {
  throw new YamlProblem(message, line);
}

function next({ scanner }: Reader): TokenKind {
  return scanner.peek().kind;
}

function isOneOf(reader: Reader, ...kinds: readonly TokenKind[]): boolean {
  return kinds.includes(next(reader));
}

/** Passes over the next token if it is of a kind. */
function take(reader: Reader, kind: TokenKind): boolean {
  if (next(reader) !== kind) return false;
  reader.scanner.skip();
  return true;
}

function readDocument(reader: Reader): void {
  if (isOneOf(reader, 'directive', 'document-start')) {
    for (let token = reader.scanner.peek(); token.kind === 'directive'; token = reader.scanner.peek()) {
      if (token.name !== '') reader.handles.add(token.name);
      reader.scanner.skip();
    }
    const token = reader.scanner.peek();
    if (!take(reader, 'document-start')) fail('did not find expected <document start>', token.start);
    if (isOneOf(reader, 'directive', 'document-start', 'document-end')) return;
  }
  if (next(reader) === 'stream-end') return;
  readNode(reader, true, false, 0);
  // Whatever follows belongs to another document, but must be a token.
  reader.scanner.peek();
}

function readNode(reader: Reader, block: boolean, indentless: boolean, depth: number): void {
  if (depth > MAX_DEPTH) throw new TooDeep();
  const first = reader.scanner.peek();
  if (first.kind === 'alias') {
    if (!reader.anchors.has(first.name))
      throw new YamlProblem(`unknown anchor '${first.name}' referenced`, 0);
    reader.scanner.skip();
    return;
  }
  const hasProperties = readProperties(reader);
  if (indentless && next(reader) === 'block-entry') {
    readIndentlessSequence(reader, depth);
    return;
  }
  const token = reader.scanner.peek();
  switch (token.kind) {
    case 'scalar':
      reader.scanner.skip();
      return;
    case 'flow-sequence-start':
      readFlowSequence(reader, depth);
      return;
    case 'flow-mapping-start':
      readFlowMapping(reader, depth);
      return;
    default:
      if (block && token.kind === 'block-sequence-start') readBlockSequence(reader, depth);
      else if (block && token.kind === 'block-mapping-start') readBlockMapping(reader, depth);
      else if (!hasProperties) fail('did not find expected node content', token.start);
  }
}

/** An anchor and a tag, in any order. */
function readProperties(reader: Reader): boolean {
  const seen = new Set<TokenKind>();
  for (;;) {
    const token: Token = reader.scanner.peek();
    if ((token.kind !== 'anchor' && token.kind !== 'tag') || seen.has(token.kind)) return seen.size > 0;
    seen.add(token.kind);
    if (token.kind === 'anchor') reader.anchors.add(token.name);
    else if (token.name !== '' && !reader.handles.has(token.name))
      fail('found undefined tag handle', token.start);
    reader.scanner.skip();
  }
}

function readBlockSequence(reader: Reader, depth: number): void {
  reader.scanner.skip();
  while (take(reader, 'block-entry'))
    if (!isOneOf(reader, 'block-entry', 'block-end')) readNode(reader, true, false, depth + 1);
  const { start } = reader.scanner.peek();
  if (!take(reader, 'block-end')) fail("did not find expected '-' indicator", start);
}

function readIndentlessSequence(reader: Reader, depth: number): void {
  while (take(reader, 'block-entry'))
    if (!isOneOf(reader, 'block-entry', 'key', 'value', 'block-end'))
      readNode(reader, true, false, depth + 1);
}

function readBlockMapping(reader: Reader, depth: number): void {
  reader.scanner.skip();
  for (;;) {
    const { start } = reader.scanner.peek();
    const hasKey = take(reader, 'key');
    if (hasKey && !isOneOf(reader, 'key', 'value', 'block-end')) readNode(reader, true, true, depth + 1);
    if (!hasKey) {
      if (!take(reader, 'block-end')) fail('did not find expected key', start);
      return;
    }
    if (take(reader, 'value') && !isOneOf(reader, 'key', 'value', 'block-end'))
      readNode(reader, true, true, depth + 1);
  }
}

function readFlowSequence(reader: Reader, depth: number): void {
  reader.scanner.skip();
  for (let first = true; !take(reader, 'flow-sequence-end'); first = false) {
    if (!first) {
      const { start } = reader.scanner.peek();
      if (!take(reader, 'flow-entry')) fail("did not find expected ',' or ']'", start);
    }
    if (take(reader, 'key')) {
      // One pair of a mapping without braces.
      // libyaml passes over what follows a key without content, whatever it is.
      if (isOneOf(reader, 'value', 'flow-entry', 'flow-sequence-end')) reader.scanner.skip();
      else readNode(reader, false, false, depth + 1);
      if (take(reader, 'value') && !isOneOf(reader, 'flow-entry', 'flow-sequence-end'))
        readNode(reader, false, false, depth + 1);
    } else if (next(reader) !== 'flow-sequence-end') readNode(reader, false, false, depth + 1);
  }
}

function readFlowMapping(reader: Reader, depth: number): void {
  reader.scanner.skip();
  for (let first = true; !take(reader, 'flow-mapping-end'); first = false) {
    if (!first) {
      const { start } = reader.scanner.peek();
      if (!take(reader, 'flow-entry')) fail("did not find expected ',' or '}'", start);
    }
    if (take(reader, 'key')) {
      if (!isOneOf(reader, 'value', 'flow-entry', 'flow-mapping-end'))
        readNode(reader, false, false, depth + 1);
      if (take(reader, 'value') && !isOneOf(reader, 'flow-entry', 'flow-mapping-end'))
        readNode(reader, false, false, depth + 1);
    } else if (next(reader) !== 'flow-mapping-end') readNode(reader, false, false, depth + 1);
  }
}
