declare const brand: unique symbol;

/**
 * The name of a cluster among those that one process works with. A type of its own, so that no name of anything else is taken for
 * one: `clusterName` is the only way to it.
 */
export type ClusterName = string & { readonly [brand]: 'ClusterName' };

/** The cluster that the process itself runs for. No provider can give this name. */
export const LOCAL_CLUSTER: ClusterName = '' as ClusterName;

const MAX_NAME = 512;

/** Throws a RangeError for what can be the name of no cluster that a provider tells of. */
export function clusterName(text: string): ClusterName {
  if (text === '') throw new RangeError('the name of a cluster must not be empty: that is the local one');
  if (text.length > MAX_NAME)
    throw new RangeError(`the name of a cluster must have at most ${MAX_NAME} characters`);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these are refused
  if (/[\u0000-\u001f\u007f]/.test(text))
    throw new RangeError('the name of a cluster must not hold control characters');
  return text as ClusterName;
}
