import {
  bindingsLibrary,
  cidrLibrary,
  encodersLibrary,
  ipLibrary,
  kubernetesListsLibrary,
  kubernetesRegexLibrary,
  type Library,
  listsLibrary,
  optionalsLibrary,
  quantityLibrary,
  semverLibrary,
  setsLibrary,
  standardLibrary,
  stringsLibrary,
  twoVariableLibrary,
  urlsLibrary,
} from '../../../cel/index.ts';
import { conditionLibrary } from './condition-library.ts';
import { deferLibrary } from './defer-library.ts';
import { hashLibrary } from './hash-library.ts';
import { jsonLibrary } from './json-library.ts';
import { listLibrary } from './list-library.ts';
import { mapLibrary } from './map-library.ts';
import { omitLibrary } from './omit-library.ts';
import { randomLibrary } from './random-library.ts';
import { timeLibrary } from './time-library.ts';

/** What every expression of a graph may use. */
export const graphLibraries: readonly Library[] = [
  standardLibrary,
  optionalsLibrary,
  bindingsLibrary,
  stringsLibrary(),
  listsLibrary,
  encodersLibrary,
  setsLibrary,
  twoVariableLibrary,
  kubernetesListsLibrary,
  urlsLibrary,
  kubernetesRegexLibrary,
  quantityLibrary,
  ipLibrary,
  cidrLibrary,
  semverLibrary,
  randomLibrary,
  mapLibrary,
  jsonLibrary,
  hashLibrary,
  listLibrary,
  timeLibrary,
];

/** In templates. The same list each time, so that what is made of it is shared. */
export const templateLibraries: readonly Library[] = [...graphLibraries, omitLibrary, deferLibrary];

/** In the conditions of a status. */
export const conditionLibraries: readonly Library[] = [...graphLibraries, conditionLibrary];
