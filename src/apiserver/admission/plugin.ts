import type { Admission, AdmissionRequest } from '../rest/scope.ts';

/** One rule over writes. Throws a `StatusError` to refuse; `mutate` may change the object. */
export interface AdmissionPlugin {
  readonly name: string;
  mutate?(request: AdmissionRequest): void;
  validate?(request: AdmissionRequest): void;
}

/** Runs plugins in order: all changes first, then all checks. */
export function admissionChain(plugins: readonly AdmissionPlugin[]): Admission {
  return {
    mutate(request): void {
      for (const plugin of plugins) plugin.mutate?.(request);
    },
    validate(request): void {
      for (const plugin of plugins) plugin.validate?.(request);
    },
  };
}
