import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

/** A change of the source as it is loaded: in the file whose path ends so, the text is replaced. */
interface Edit {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** Deliberate mistakes that the rig must find. Each breaks one rule of the boundary. */
export const BUGS: Readonly<Record<string, readonly Edit[]>> = {
  /** A dispatch that is not there any more is taken for an order to delete. */
  'absence-deletes': [
    {
      file: 'src/spoke/holdings.ts',
      from: 'if (!dispatch) return undefined;',
      to: `if (!dispatch) {
        const gone = held.get(name);
        const tombstones = gone?.accepted.objects.map((ref) => ({ ref, reason: 'absent' })) ?? [];
        if (gone) hold(name, undefined, contentOf([], gone.accepted));
        if (gone) Object.assign(held.get(name), { accepted: { ...gone.accepted, objects: [], tombstones } });
        return undefined;
      }`,
    },
  ],
  /** A hub that was restored from an old state is believed, and believes itself. */
  'no-epoch-check': [
    {
      file: 'src/engine/dispatch/accept.ts',
      from: 'const order = comparePositions(spec.position, accepted.position);',
      to: "const order = comparePositions(spec.position, accepted.position) === 0 ? 0 : 1; if (order === 1) return { verdict: 'accept' };",
    },
    { file: 'src/hub/dispatch/evidence.ts', from: 'if (relation > 0)', to: 'if (relation > 1e9)' },
    {
      file: 'src/hub/dispatch/evidence.ts',
      from: 'if (contradicts(own.history, generation, signed.digest))',
      to: 'if (false)',
    },
  ],
  /** Whatever is looked at again is written again. */
  'write-on-resync': [
    {
      file: 'src/hub/inventory/start-inventory.ts',
      from: 'if (!sameButForProbing(spoke.status, status)) {',
      to: 'if (spoke.status !== status) {',
    },
  ],
  /** The spoke writes down what it owns only once it has made it. */
  'ownership-after-apply': [
    {
      file: 'src/spoke/holdings.ts',
      from: 'await memory.save(name, { accepted: dispatch.spec, owned });',
      to: 'setLater(() => memory.save(name, { accepted: dispatch.spec, owned }));',
    },
    {
      file: 'src/spoke/holdings.ts',
      from: 'const CONTENT_RETRY_MS',
      to: 'const setLater = (act: () => Promise<unknown>): unknown => setImmediate(() => setImmediate(() => setImmediate(act))); const CONTENT_RETRY_MS',
    },
  ],
  /** One of the objects of an instance is forgotten when the instance is deleted. */
  'leaked-child': [
    {
      file: 'src/spoke/graphs/removal.ts',
      from: 'next(present, contributed)',
      to: 'next(present.slice(1), contributed)',
    },
  ],
  /** Only the first word of the hub wakes the spoke up. */
  'lost-wake-up': [
    {
      file: 'src/spoke/spoke.ts',
      from: "const onlyStatus = type === 'updated' && deepEqual(object.spec, previous?.spec);",
      to: "const onlyStatus = type === 'updated' && previous !== undefined;",
    },
  ],
};

/** Files and texts that a bug would replace and that are not there (any more). */
export function misfits(): string[] {
  return Object.entries(BUGS).flatMap(([name, edits]) =>
    edits
      .filter(
        ({ file, from }) =>
          !readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8').includes(from),
      )
      .map(({ file, from }) => `${name}: ${file} has no ${from}`),
  );
}

/** Throws an Error where the text that is to be replaced is not there: then the bug is out of date. */
export function plantBug(name: string): void {
  const edits = BUGS[name];
  if (!edits) throw new Error(`there is no bug ${name}; there are ${Object.keys(BUGS).join(', ')}`);
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      const wanted = edits.filter(({ file }) => url.endsWith(file));
      if (wanted.length === 0) return loaded;
      let source = loaded.source?.toString() ?? '';
      for (const { file, from, to } of wanted) {
        if (!source.includes(from)) throw new Error(`bug ${name} does not fit ${file} any more`);
        source = source.replace(from, () => to);
      }
      return { ...loaded, source };
    },
  });
}
