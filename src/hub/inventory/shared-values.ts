/** More contents than this are not kept apart: there are about as many as makes of clusters. */
const MAX_CONTENTS = 64;

/**
 * The same object for the same content: clusters of one make say the same of themselves, and the hub keeps what each says.
 * `contentOf` is JSON where nothing is said.
 */
export function sharedValues<T>(
  contentOf: (value: T) => string = (value) => JSON.stringify(value),
): (value: T) => T {
  const values = new Map<string, T>();
  return (value) => {
    const content = contentOf(value);
    const known = values.get(content);
    if (known !== undefined) return known;
    if (values.size >= MAX_CONTENTS) values.clear();
    values.set(content, value);
    return value;
  };
}
