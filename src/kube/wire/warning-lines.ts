/**
 * Response headers as they are written: a `Warning` of several values becomes as many lines. Together they may be longer
 * than clients take one line to be, and clients of Kubernetes show each line.
 */
export function withWarningLines(
  headers: Readonly<Record<string, string>>,
): Readonly<Record<string, string | string[]>> {
  const { warning } = headers;
  if (warning === undefined || !warning.includes(SEPARATOR)) return headers;
  const lines = warning.split(SEPARATOR).map((line, index) => (index === 0 ? line : NEXT + line));
  return { ...headers, warning: lines.map((line, index) => (index < lines.length - 1 ? `${line}"` : line)) };
}

/** Between two values; quotation marks inside a value have a backslash before them. */
const SEPARATOR = '", 299 - "';
const NEXT = '299 - "';
