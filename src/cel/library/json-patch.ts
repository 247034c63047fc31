import { DYN, type ObjectType, STRING, type Type } from '../types/type.ts';
import { traversal } from './cost.ts';
import { globalOverload, type Library } from './function.ts';

const FIELDS: ReadonlyMap<string, Type> = new Map([
  ['op', STRING],
  ['path', STRING],
  ['from', STRING],
  ['value', DYN],
]);

/** `JSONPatch{op: 'add', path: '/metadata/labels/a', value: 'b'}` in mutating policies. */
export const jsonPatchType: ObjectType = {
  kind: 'object',
  name: 'JSONPatch',
  field: (name) => {
    const type = FIELDS.get(name);
    return type && { type };
  },
  fieldNames: () => [...FIELDS.keys()],
};

export const jsonPatchLibrary: Library = {
  name: 'jsonpatch',
  functions: [
    {
      name: 'jsonpatch.escapeKey',
      overloads: [
        globalOverload(
          'string_escapeKey',
          [STRING],
          STRING,
          (key) => (key as string).replaceAll('~', '~0').replaceAll('/', '~1'),
          traversal(0, 2),
        ),
      ],
    },
  ],
};
