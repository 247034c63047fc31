import {
  DYN,
  globalOverload,
  type Library,
  Opaque,
  type OpaqueKind,
  opaqueType,
  type Value,
} from '../../../cel/index.ts';

export const OMIT_FUNCTION = 'omit';

const KIND: OpaqueKind<null> = {
  type: opaqueType('kro.Omit'),
  name: 'kro.Omit',
  equals: () => true,
};

/** The value that takes away the field or the element it stands for. */
const OMITTED: Value = new Opaque(KIND, null);

export function isOmitted(value: Value): boolean {
  return value instanceof Opaque && value.kind === (KIND as OpaqueKind<unknown>);
}

/** `omit()`: leaves out the field whose whole value the expression is. Of type dyn, so that it fits beside any other value. */
export const omitLibrary: Library = {
  name: 'omit',
  functions: [{ name: OMIT_FUNCTION, overloads: [globalOverload('omit', [], DYN, () => OMITTED)] }],
};
