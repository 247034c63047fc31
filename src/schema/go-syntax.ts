import { isObject, type JsonValue } from './json.ts';

/**
 * A value of no declared type as Kubernetes' messages show it, in the syntax of Go: `map[string]interface {}{"b":1}`. Clients
 * show such texts to people, who compare them.
 */
export function goSyntax(value: JsonValue | undefined): string {
  if (value === null || value === undefined) return 'interface {}(nil)';
  if (Array.isArray(value)) return `[]interface {}{${value.map(goSyntax).join(', ')}}`;
  if (typeof value === 'bigint') return String(value);
  if (!isObject(value)) return JSON.stringify(value);
  const parts = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${goSyntax(value[key])}`);
  return `map[string]interface {}{${parts.join(', ')}}`;
}

/** A number with a fraction, or beyond 64 bits, as Go prints it: `2.5`, `1e+06`. */
export function goFloat(value: number): string {
  const [digits = '', exponent = '0'] = value.toExponential().split('e');
  const power = Number(exponent);
  if (power >= -4 && power < 6) return String(value);
  return `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
}
