import {
  validateDns1035Label,
  validateDns1123Label,
  validateDns1123Subdomain,
  validateLabelValue,
  validateQualifiedName,
} from '../../schema/names.ts';
import { hasFormat } from '../../schema/string-format.ts';
import { fixed, scale, TEXT_FACTOR, times, UNKNOWN_SIZE } from '../check/cost-range.ts';
import { listType, opaqueType, optionalType, STRING, type Type } from '../types/type.ts';
import { List } from '../values/list.ts';
import { costSize } from '../values/size.ts';
import { NONE, Opaque, type OpaqueKind, Optional, type Value } from '../values/value.ts';
import { nominal } from './cost.ts';
import { globalOverload, type Library, memberOverload } from './function.ts';

const FORMAT: Type = opaqueType('kubernetes.NamedFormat');

interface NamedFormat {
  readonly name: string;
  readonly problems: (text: string) => readonly string[];
}

const formatKind: OpaqueKind<NamedFormat> = {
  type: FORMAT,
  name: 'kubernetes.NamedFormat',
  equals: (a, b) => a.name === b.name,
  toText: (format) => format.name,
};

/** A name that something will be appended to may end in a dash. */
function prefixOf(check: (text: string) => readonly string[]): (text: string) => readonly string[] {
  return (text) => check(text.endsWith('-') ? `${text.slice(0, -1)}a` : text);
}

function ofSchema(format: string, message: string): (text: string) => readonly string[] {
  return (text) => (hasFormat(format, text) ? [] : [message]);
}

const FORMATS: readonly NamedFormat[] = [
  { name: 'dns1123Label', problems: validateDns1123Label },
  { name: 'dns1123Subdomain', problems: validateDns1123Subdomain },
  { name: 'dns1035Label', problems: validateDns1035Label },
  { name: 'qualifiedName', problems: validateQualifiedName },
  { name: 'dns1123LabelPrefix', problems: prefixOf(validateDns1123Label) },
  { name: 'dns1123SubdomainPrefix', problems: prefixOf(validateDns1123Subdomain) },
  { name: 'dns1035LabelPrefix', problems: prefixOf(validateDns1035Label) },
  { name: 'labelValue', problems: validateLabelValue },
  { name: 'uri', problems: ofSchema('uri', 'invalid URI') },
  { name: 'uuid', problems: ofSchema('uuid', 'does not match the UUID format') },
  { name: 'byte', problems: ofSchema('byte', 'invalid base64') },
  { name: 'date', problems: ofSchema('date', 'invalid date') },
  { name: 'datetime', problems: ofSchema('date-time', 'invalid datetime') },
];

const VALUES = new Map(FORMATS.map((format) => [format.name, new Opaque(formatKind, format) as Opaque]));
/** Of the expressions behind the formats. */
const PATTERN_SIZE = 20;

function validate(format: Value, text: Value): Value {
  const problems = (format as Opaque<NamedFormat>).value.problems(text as string);
  return problems.length === 0 ? NONE : new Optional(new List(problems));
}

export const formatsLibrary: Library = {
  name: 'format',
  functions: [
    {
      name: 'format.named',
      overloads: [
        globalOverload(
          'format_named',
          [STRING],
          optionalType(FORMAT),
          (name) => {
            const found = VALUES.get(name as string);
            return found ? new Optional(found) : NONE;
          },
          nominal,
        ),
      ],
    },
    ...FORMATS.map(({ name }) => ({
      name: `format.${name}`,
      overloads: [globalOverload(`format_${name}`, [], FORMAT, () => VALUES.get(name) ?? null, nominal)],
    })),
    {
      name: 'validate',
      overloads: [
        memberOverload('format_validate', [FORMAT, STRING], optionalType(listType(STRING)), validate, {
          cost: ([, text]) => Math.ceil((1 + costSize(text ?? null)) * TEXT_FACTOR) * PATTERN_SIZE,
          estimate: ([, text]) => ({
            cost: times(
              scale({ min: 1, max: (text?.size ?? UNKNOWN_SIZE).max + 1 }, TEXT_FACTOR),
              fixed(PATTERN_SIZE),
            ),
            resultSize: { min: 1, max: 10 },
          }),
        }),
      ],
    },
  ],
};
