import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

/** What a definition says of itself and of its fields, in words. */
export interface DefinitionTexts {
  /** Empty where it has none. */
  readonly own: string;
  /** `undefined` for a field without. */
  field(name: string): string | undefined;
}

/** Finds the texts of a definition by its full name. Whoever holds on to it holds all texts in memory. */
export type DescriptionReader = (definition: string) => DefinitionTexts | undefined;

/** The documentation of built-in kinds, which stays on disk until somebody wants to read it. */
export interface Descriptions {
  /** Tells texts of different content apart; empty without texts. */
  readonly digest: string;
  open(): DescriptionReader;
}

/** The file that `scripts/generate-descriptions.ts` writes. Texts are numbered, since many fields share theirs. */
export interface DescriptionFile {
  readonly texts: readonly string[];
  /** By name of the definition: the number of its own text, and those of its fields. */
  readonly definitions: Record<string, readonly [number | null, Readonly<Record<string, number>>]>;
}

/** Bounds what a damaged file could expand to. */
const MAX_EXPANDED_BYTES = 16 * 1024 * 1024;

/** The descriptions in `file`; none where there is no such file, as when the sources run without a build. */
export function descriptionsIn(file: URL): Descriptions {
  let digest: string | undefined;
  // Whoever reads several documents in a row parses once; at rest the collector takes it back.
  let recent: WeakRef<DescriptionFile> | undefined;
  const bytes = (): Buffer | undefined => {
    try {
      return readFileSync(file);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw unreadable(file, error);
    }
  };
  const read = (): DescriptionFile => {
    const known = recent?.deref();
    if (known) return known;
    const content = bytes();
    if (!content) return { texts: [], definitions: {} };
    try {
      const text = gunzipSync(content, { maxOutputLength: MAX_EXPANDED_BYTES }).toString('utf8');
      const parsed = JSON.parse(text) as DescriptionFile;
      recent = new WeakRef(parsed);
      return parsed;
    } catch (error) {
      throw unreadable(file, error);
    }
  };
  return {
    get digest(): string {
      if (digest === undefined) {
        const content = bytes();
        digest = content ? createHash('sha256').update(content).digest('hex') : '';
      }
      return digest;
    },
    open() {
      const { texts, definitions } = read();
      return (definition) => {
        const entry = Object.hasOwn(definitions, definition) ? definitions[definition] : undefined;
        if (!entry) return undefined;
        const [own, fields] = entry;
        return {
          own: own === null ? '' : (texts[own] ?? ''),
          field: (name) => (Object.hasOwn(fields, name) ? texts[fields[name] ?? -1] : undefined),
        };
      };
    },
  };
}

function unreadable(file: URL, cause: unknown): Error {
  return new Error(`the descriptions of built-in kinds cannot be read from ${file.pathname}: build again`, {
    cause,
  });
}

/** Those of this build, which writes them beside the compiled rooms. */
export const builtDescriptions: Descriptions = descriptionsIn(
  new URL('../../descriptions.json.gz', import.meta.url),
);
