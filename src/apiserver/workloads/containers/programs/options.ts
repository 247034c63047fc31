/** Arguments of a program, told apart: `-la --color x` has the options `l`, `a`, `color` and the operand `x`. */
export interface Options {
  has(...names: string[]): boolean;
  /** Of an option that takes one. */
  value(...names: string[]): string | undefined;
  readonly operands: readonly string[];
}

/** `valued` are the options that are followed by a value. */
export function optionsOf(args: readonly string[], valued: readonly string[] = []): Options {
  const found = new Map<string, string>();
  const operands: string[] = [];
  const rest = [...args];
  for (let argument = rest.shift(); argument !== undefined; argument = rest.shift()) {
    if (argument === '--') {
      operands.push(...rest);
      break;
    }
    if (argument.startsWith('--')) {
      const [, name = '', value] = /^--([^=]*)(?:=([\s\S]*))?$/.exec(argument) ?? [];
      found.set(name, value ?? (valued.includes(name) ? (rest.shift() ?? '') : ''));
    } else if (argument.startsWith('-') && argument.length > 1) {
      for (let index = 1; index < argument.length; index++) {
        const name = argument[index] ?? '';
        if (!valued.includes(name)) {
          found.set(name, '');
          continue;
        }
        const attached = argument.slice(index + 1);
        found.set(name, attached === '' ? (rest.shift() ?? '') : attached);
        break;
      }
    } else operands.push(argument);
  }
  return {
    has: (...names) => names.some((name) => found.has(name)),
    value: (...names) => names.map((name) => found.get(name)).find((value) => value !== undefined),
    operands,
  };
}
