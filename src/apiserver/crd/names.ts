import type { Definition, DefinitionNames } from './definition.ts';

/** Why names were not accepted; `undefined` when they are free. */
export interface NameConflict {
  readonly reason:
    | 'PluralConflict'
    | 'SingularConflict'
    | 'ShortNamesConflict'
    | 'KindConflict'
    | 'ListKindConflict';
  readonly message: string;
}

export interface NamesDecision {
  readonly accepted: Partial<DefinitionNames>;
  readonly conflict: NameConflict | undefined;
}

/** Fills the names that a definition may leave out. */
export function completeNames(names: DefinitionNames): void {
  if (!names.kind) return;
  if (!names.singular) names.singular = names.kind.toLowerCase();
  if (!names.listKind) names.listKind = `${names.kind}List`;
}

/**
 * Decides which names of a definition are free among the others of its group: plural, singular and short names share one
 * space, kind and list kind another.
 */
export function decideNames(definition: Definition, others: readonly Definition[]): NamesDecision {
  const resources = new Set<string>();
  const kinds = new Set<string>();
  for (const other of others) {
    if (other.metadata.name === definition.metadata.name || other.spec.group !== definition.spec.group)
      continue;
    const { plural, singular, shortNames, kind, listKind } = other.status?.acceptedNames ?? {};
    for (const name of [plural, singular, ...(shortNames ?? [])]) if (name) resources.add(name);
    for (const name of [kind, listKind]) if (name) kinds.add(name);
  }
  const { names } = definition.spec;
  const before = definition.status?.acceptedNames;
  // Names that were accepted stay until others are.
  const accepted: Partial<DefinitionNames> = {
    ...before,
    plural: before?.plural ?? '',
    kind: before?.kind ?? '',
  };
  let conflict: NameConflict | undefined;
  const check = (used: boolean, reason: NameConflict['reason'], name: string, accept: () => void): void => {
    // Of several conflicts the last one is told, as Kubernetes does.
    if (used) conflict = { reason, message: `${JSON.stringify(name)} is already in use` };
    else accept();
  };
  check(resources.has(names.plural), 'PluralConflict', names.plural, () => {
    accepted.plural = names.plural;
  });
  const { singular, listKind, shortNames, categories } = names;
  if (singular)
    check(resources.has(singular), 'SingularConflict', singular, () => {
      accepted.singular = singular;
    });
  if (shortNames && shortNames.length > 0) {
    const taken = shortNames.find((name) => resources.has(name));
    check(taken !== undefined, 'ShortNamesConflict', taken ?? '', () => {
      accepted.shortNames = [...shortNames];
    });
  } else delete accepted.shortNames;
  check(kinds.has(names.kind), 'KindConflict', names.kind, () => {
    accepted.kind = names.kind;
  });
  if (listKind)
    check(kinds.has(listKind), 'ListKindConflict', listKind, () => {
      accepted.listKind = listKind;
    });
  if (categories) accepted.categories = [...categories];
  else delete accepted.categories;
  return { accepted, conflict };
}
