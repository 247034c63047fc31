import {
  CelError,
  DYN,
  fromJson,
  globalOverload,
  type Library,
  STRING,
  type Value,
} from '../../../cel/index.ts';
import { canonicalJson } from '../../../schema/json.ts';
import { parseJson } from '../../../schema/json-text.ts';
import { jsonOfResult } from './result.ts';

const MAX_TEXT = 1024 * 1024;

function unmarshal(text: Value): Value {
  const source = text as string;
  if (source.length > MAX_TEXT) return new CelError(`json.unmarshal: the text is longer than ${MAX_TEXT}`);
  try {
    return fromJson(parseJson(source));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return new CelError(`json.unmarshal: the text is no JSON: ${error.message}`);
  }
}

function marshal(value: Value): Value {
  const { json, problem } = jsonOfResult(value);
  if (problem !== undefined) return new CelError(`json.marshal: ${problem}`);
  // As Go writes it, so that texts which end up in annotations are those of kro.
  return canonicalJson(json).replace(/[<>&\u2028\u2029]/g, (char) => {
    return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

/** Texts to values and back; keys are written in order. */
export const jsonLibrary: Library = {
  name: 'json',
  functions: [
    {
      name: 'json.unmarshal',
      overloads: [
        globalOverload('json_unmarshal_string', [STRING], DYN, unmarshal, {
          cost: ([text]) => 1 + Math.ceil((text as string).length / 10),
        }),
      ],
    },
    {
      name: 'json.marshal',
      overloads: [
        globalOverload('json_marshal_dyn', [DYN], STRING, marshal, {
          resultCost: (text) => (typeof text === 'string' ? Math.ceil(text.length / 10) : 0),
        }),
      ],
    },
  ],
};
