const NUMBER = /^(?:\d+(?:\.\d*)?|\.\d+)/;
const UNITS: ReadonlySet<string> = new Set(['ns', 'us', 'µs', 'μs', 'ms', 's', 'm', 'h']);

/** What is wrong with a duration such as `1m30s`, in the words of Go; `undefined` for a good one. How long it is is not looked at. */
export function durationProblem(text: string): string | undefined {
  const quoted = JSON.stringify(text);
  let rest = text.replace(/^[+-]/, '');
  if (rest === '0') return undefined;
  do {
    const [number] = NUMBER.exec(rest) ?? [];
    if (number === undefined) return `invalid duration ${quoted}`;
    rest = rest.slice(number.length);
    const [unit = ''] = /^[^.\d]*/.exec(rest) ?? [];
    if (unit === '') return `missing unit in duration ${quoted}`;
    if (!UNITS.has(unit)) return `unknown unit ${JSON.stringify(unit)} in duration ${quoted}`;
    rest = rest.slice(unit.length);
  } while (rest !== '');
  return undefined;
}
