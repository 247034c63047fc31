import type { RequestAttributes, UserInfo } from '../auth/index.ts';

/** What the pipeline learns of a request on its way, for the audit and the metrics. */
export interface Tracked {
  user: UserInfo;
  verb: string;
  impersonated?: UserInfo;
  attributes?: RequestAttributes;
  annotations?: Readonly<Record<string, string>>;
  /** Values of the `Warning` header, collected on the way. */
  readonly warnings: string[];
}

export function tracked(user: UserInfo, method: string): Tracked {
  return { user, verb: method.toLowerCase(), warnings: [] };
}

/** Adds to the request's event in the audit log. */
export function annotate(track: Tracked, annotations: Readonly<Record<string, string>>): void {
  track.annotations = { ...track.annotations, ...annotations };
}
