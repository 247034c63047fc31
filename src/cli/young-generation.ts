import { setFlagsFromString } from 'node:v8';

/**
 * Keeps V8's young generation as small as it begins, until the function that is given back is called: a start leaves little of
 * what it allocates, and memory that the young generation took for it would never be given back to a process that then rests.
 */
export function keepYoungGenerationSmall(): () => void {
  setFlagsFromString('--semi-space-growth-factor=1');
  return () => setFlagsFromString('--semi-space-growth-factor=2');
}
