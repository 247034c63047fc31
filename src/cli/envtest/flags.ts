/** Command-line flags as programs written in Go take them: `--name=value`, `--name value`, and `--name` for `true`. */
export interface GoFlags {
  /** The last value given. */
  text(name: string): string | undefined;
  /** Every value given, split at commas. */
  list(name: string): string[];
  /** Throws an Error for a value that is neither true nor false. */
  boolean(name: string): boolean | undefined;
  /** Names that were given, in order, once each. */
  readonly names: readonly string[];
}

/** `booleans` never take the next argument as their value. Throws an Error for an argument that is no flag. */
export function parseGoFlags(args: readonly string[], booleans: ReadonlySet<string>): GoFlags {
  const values = new Map<string, string[]>();
  for (let index = 0; index < args.length; index++) {
    const arg = args[index] ?? '';
    const match = /^--?([A-Za-z0-9][\w.-]*)(?:=(.*))?$/s.exec(arg);
    if (match === null) throw new Error(`unknown argument ${JSON.stringify(arg)}`);
    const name = (match[1] ?? '').replaceAll('_', '-');
    let value = match[2];
    if (value === undefined) {
      const next = args[index + 1];
      if (booleans.has(name) || next === undefined || next.startsWith('-')) value = 'true';
      else {
        value = next;
        index++;
      }
    }
    const known = values.get(name);
    if (known) known.push(value);
    else values.set(name, [value]);
  }
  return {
    names: [...values.keys()],
    text: (name) => values.get(name)?.at(-1),
    list: (name) =>
      (values.get(name) ?? [])
        .flatMap((value) => value.split(','))
        .map((value) => value.trim())
        .filter((value) => value !== ''),
    boolean(name) {
      const value = values.get(name)?.at(-1)?.toLowerCase();
      if (value === undefined) return undefined;
      if (['true', 't', '1'].includes(value)) return true;
      if (['false', 'f', '0'].includes(value)) return false;
      throw new Error(`invalid argument "${value}" for "--${name}": it is true or false`);
    },
  };
}
