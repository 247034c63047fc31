import { blockMacros, twoVariableMacros } from '../syntax/macros.ts';
import { encodersLibrary } from './encoders.ts';
import type { Library } from './function.ts';
import { listsLibrary } from './lists.ts';
import { mathLibrary } from './math.ts';
import { bindingsLibrary, optionalsLibrary } from './optionals.ts';
import { regexLibrary } from './regex.ts';
import { setsLibrary } from './sets.ts';
import { standardLibrary } from './standard.ts';
import { stringsLibrary } from './strings.ts';

/** Macros with index and element, or key and value. */
export const twoVariableLibrary: Library = {
  name: 'two-variable-comprehensions',
  functions: [],
  macros: twoVariableMacros,
};

/** Common subexpressions by number. */
export const blockLibrary: Library = { name: 'block', functions: [], macros: blockMacros };

/** The language and its extensions, without what Kubernetes adds. */
export const languageLibraries: readonly Library[] = [
  standardLibrary,
  optionalsLibrary,
  bindingsLibrary,
  stringsLibrary(),
  mathLibrary,
  listsLibrary,
  encodersLibrary,
  setsLibrary,
  regexLibrary,
  twoVariableLibrary,
  blockLibrary,
];
