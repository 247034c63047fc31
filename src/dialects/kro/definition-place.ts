import type { ResourceGraphDefinition } from './types.ts';

/** On a definition: `"false"` keeps it at the hub. */
export const DISTRIBUTE_LABEL = 'kro.run/distribute';

/** Whether a definition puts objects on clusters that it names. */
export function hasTargets({ spec }: ResourceGraphDefinition): boolean {
  return spec.target !== undefined || (spec.resources ?? []).some(({ target }) => target !== undefined);
}
