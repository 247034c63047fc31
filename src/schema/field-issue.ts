/**
 * One problem of a field, as data; texts and status codes are the caller's. The form is that of Kubernetes'
 * `field.Error`, so that the API server hands issues on as they are.
 */
export interface FieldIssue {
  readonly type:
    | 'Required'
    | 'Invalid'
    | 'NotSupported'
    | 'Duplicate'
    | 'Forbidden'
    | 'TooLong'
    | 'TooMany'
    | 'TooFew'
    | 'NotFound'
    | 'TypeInvalid'
    | 'Internal';
  /** For example `spec.containers[0].name`. */
  readonly path: string;
  readonly value?: unknown;
  readonly detail: string;
  /** For `NotSupported`: what is supported. */
  readonly supported?: readonly string[];
  /** How the value is printed where its JSON is not it; empty to print none. */
  readonly valueText?: string;
}

/** `parent.key`, or `key` at the root. */
export function childPath(parent: string, key: string): string {
  return parent === '' ? key : `${parent}.${key}`;
}
