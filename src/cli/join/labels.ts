/** Labels from words of a command line: `key=value`, several with commas. */
export function labelsOf(pairs: readonly string[] = []): Record<string, string> {
  return Object.fromEntries(
    pairs
      .flatMap((item) => item.split(','))
      .map((pair): [string, string] => {
        const at = pair.indexOf('=');
        if (at < 1) throw new Error(`--labels ${JSON.stringify(pair)} is not of the form key=value`);
        return [pair.slice(0, at), pair.slice(at + 1)];
      }),
  );
}
