/** The field `matchConstraints` of an admission policy. */
export interface MatchConstraints {
  readonly matchPolicy: 'Equivalent';
  readonly namespaceSelector: object;
  readonly objectSelector: object;
  readonly resourceRules: readonly object[];
}

/**
 * All that is created and updated of some resources. Said with its defaults: the field has one owner as a whole, so that what is
 * left out of it would look like a change at every start.
 */
export function whatIsWritten(groups: readonly string[], resources: readonly string[]): MatchConstraints {
  return {
    matchPolicy: 'Equivalent',
    namespaceSelector: {},
    objectSelector: {},
    resourceRules: [
      {
        apiGroups: [...groups],
        apiVersions: ['*'],
        operations: ['CREATE', 'UPDATE'],
        resources: [...resources],
        scope: '*',
      },
    ],
  };
}
