import { asJson } from '../../kube/object.ts';
import { clone, deepEqual } from '../../schema/json.ts';
import type { Admission, AdmissionRequest, Charge, Scope } from '../rest/scope.ts';

/** One rule over writes. Throws a `StatusError` to refuse; `mutate` may change the object. */
export interface AdmissionPlugin {
  readonly name: string;
  mutate?(request: AdmissionRequest): void;
  validate?(request: AdmissionRequest): void;
  /** See {@link Admission.place}. */
  place?(scope: Scope, name: string): void;
}

/** Rules that are kept outside of this process, so that it takes time to ask for them. */
export interface RemoteAdmission {
  /** Whether anybody may have to be asked at all. Cheap: every write asks this. */
  mayWait(scope: Scope): boolean;
  /** `undefined` where nobody is concerned. `again` runs the plugins once more over what has become of the object. */
  mutate(request: AdmissionRequest, again: () => void): Promise<void> | undefined;
  validate(request: AdmissionRequest): Promise<void> | undefined;
}

/** Counts what writes cost. See {@link Admission.charge}. */
export interface Accountant {
  charge(request: AdmissionRequest): Charge | undefined;
}

/**
 * Runs plugins in order: all changes first, then all checks. Who is outside is asked after the plugins of each phase, and
 * costs are counted last of all.
 */
export function admissionChain(
  plugins: readonly AdmissionPlugin[],
  remote?: RemoteAdmission,
  accountant?: Accountant,
): Admission {
  const mutate = (request: AdmissionRequest): void => {
    for (const plugin of plugins) plugin.mutate?.(request);
  };
  return {
    mutate(request) {
      mutate(request);
      return remote?.mutate(request, () => mutate(request));
    },
    validate(request) {
      for (const plugin of plugins) plugin.validate?.(request);
      return remote?.validate(request);
    },
    place(scope, name) {
      for (const plugin of plugins) plugin.place?.(scope, name);
    },
    charge: (request) => accountant?.charge(request),
    mayWait: (scope) => remote?.mayWait(scope) ?? false,
  };
}

/** Runs `change` on the object of the request; whether that has changed it. */
export function changes(request: AdmissionRequest, change: () => void): boolean {
  if (!request.object) return false;
  const before = clone(asJson(request.object));
  change();
  return !deepEqual(before, asJson(request.object));
}
