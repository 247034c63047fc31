import { twoVariableLibrary } from './all.ts';
import { authorizerLibrary, authorizerSelectorsLibrary } from './authorizer.ts';
import { formatsLibrary } from './formats.ts';
import type { Library } from './function.ts';
import { kubernetesListsLibrary, listsLibrary } from './lists.ts';
import { cidrLibrary, ipLibrary } from './network.ts';
import { optionalsLibrary } from './optionals.ts';
import { quantityLibrary } from './quantity.ts';
import { kubernetesRegexLibrary } from './regex.ts';
import { semverLibrary } from './semver.ts';
import { setsLibrary } from './sets.ts';
import { standardLibrary } from './standard.ts';
import { stringsLibrary } from './strings.ts';
import { urlsLibrary } from './urls.ts';

/** Releases of Kubernetes whose rules are known. */
export type KubernetesVersion =
  | '1.28'
  | '1.29'
  | '1.30'
  | '1.31'
  | '1.32'
  | '1.33'
  | '1.34'
  | '1.35'
  | '1.36';

interface Introduced {
  /** Minor release. */
  readonly since: number;
  /** The release from which another version of it takes its place. */
  readonly until?: number;
  readonly library: Library;
}

const LIBRARIES: readonly Introduced[] = [
  { since: 0, library: standardLibrary },
  { since: 0, library: urlsLibrary },
  { since: 0, library: kubernetesRegexLibrary },
  { since: 0, library: kubernetesListsLibrary },
  { since: 27, library: authorizerLibrary },
  { since: 28, library: optionalsLibrary },
  { since: 28, library: quantityLibrary },
  { since: 0, until: 29, library: stringsLibrary(0) },
  { since: 29, library: stringsLibrary(2) },
  { since: 29, library: setsLibrary },
  { since: 30, library: ipLibrary },
  { since: 30, library: cidrLibrary },
  { since: 31, library: formatsLibrary },
  { since: 31, library: authorizerSelectorsLibrary },
  { since: 32, library: twoVariableLibrary },
  { since: 33, library: semverLibrary },
  { since: 34, library: listsLibrary },
];

const BY_MINOR = new Map<number, readonly Library[]>();

/** What expressions may use in a release. The same list for the same release. */
export function kubernetesLibraries(version: KubernetesVersion = '1.36'): readonly Library[] {
  const minor = Number(version.slice(version.indexOf('.') + 1));
  let libraries = BY_MINOR.get(minor);
  if (!libraries) {
    libraries = LIBRARIES.filter(({ since, until = Infinity }) => minor >= since && minor < until).map(
      ({ library }) => library,
    );
    BY_MINOR.set(minor, libraries);
  }
  return libraries;
}
