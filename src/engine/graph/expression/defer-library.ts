import { globalOverload, type Library, typeParam } from '../../../cel/index.ts';

export const DEFER_FUNCTION = 'defer';

const T = typeParam('T');

/**
 * `defer(value)`: the value itself. Around the whole expression of a field it says that the node does not wait for it: the field is left
 * out until the value is there.
 */
export const deferLibrary: Library = {
  name: 'defer',
  functions: [{ name: DEFER_FUNCTION, overloads: [globalOverload('defer', [T], T, (value) => value)] }],
};
