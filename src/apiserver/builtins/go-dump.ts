import { goQuote } from '../../kube/status-error.ts';
import { isObject } from '../../schema/json.ts';
import { parseQuantity } from '../../schema/quantity.ts';
import { goFields, goObject } from './go-types.ts';

/**
 * Values of built-in types as messages of Kubernetes show them: structures in the syntax of Go, with the fields of its internal
 * types. People search for such texts and tests compare them. What a pointer points at is not shown, only that there is
 * something; its address differs from server to server anyway.
 */
const ADDRESS = '0xc000000000';

/** `value`, a piece of an object, as a value of the type: `apps.DeploymentStrategy`, `[]v1.OwnerReference`, `*bool`. */
export function goDump(type: string, value: unknown): string {
  const absent = value === undefined || value === null;
  switch (type) {
    case 'string':
      return goQuote(typeof value === 'string' ? value : '');
    case 'int':
      return String(value ?? 0);
    case 'bool':
      return String(value === true);
    case 'time':
      return 'time.Date(1, time.January, 1, 0, 0, 0, 0, time.UTC)';
    case '*time':
      return '<nil>';
    case 'core.ResourceList':
      return map(type, value, (item) => quantityDump(item));
    case 'map[string]string':
      return map(type, value, (item) => goDump('string', item));
    default:
  }
  if (type.startsWith('*')) return `(${type})(${absent ? 'nil' : ADDRESS})`;
  if (type.startsWith('[]')) {
    const items: unknown[] = Array.isArray(value) ? value : [];
    if (items.length === 0) return Array.isArray(value) ? `${type}{}` : `${type}(nil)`;
    return `${type}{${items.map((item) => goDump(type.slice(2), item)).join(', ')}}`;
  }
  const fields = goFields(type);
  // A name for texts, or a structure that messages have not shown so far.
  if (fields === undefined)
    return absent || typeof value === 'string' ? goQuote(value ?? '') : `${type}{...}`;
  const object = goObject(type, value);
  const texts = fields.map(
    ({ name, type: fieldType, json }) =>
      `${name}:${goDump(fieldType, json === undefined ? object : object[json])}`,
  );
  return `${type}{${texts.join(', ')}}`;
}

function map(type: string, value: unknown, dump: (item: unknown) => string): string {
  if (!isObject(value)) return `${type}(nil)`;
  const texts = Object.keys(value)
    .sort()
    .map((key) => `${goQuote(key)}:${dump(value[key])}`);
  return `${type}{${texts.join(', ')}}`;
}

const NANO_DIGITS = 9;

/** `written` is the text that the quantity keeps once somebody has asked for it. */
export function quantityDump(value: unknown, written: string = ''): string {
  const quantity = parseQuantity(value);
  if (quantity === undefined) return 'resource.Quantity{}';
  let { nanos } = quantity;
  let scale = -NANO_DIGITS;
  while (nanos !== 0n && scale < 0 && nanos % 10n === 0n) {
    nanos /= 10n;
    scale += 1;
  }
  if (nanos === 0n) scale = 0;
  return `resource.Quantity{i:resource.int64Amount{value:${nanos}, scale:${scale}}, d:resource.infDecAmount{Dec:(*inf.Dec)(nil)}, s:${goQuote(written)}, Format:"${quantity.format}"}`;
}
