import { at, isObject, type JsonObject, type JsonValue, listAt, stringAt } from '../../../schema/json.ts';

/** What the checks look at. */
export interface PodParts {
  readonly spec: JsonObject;
  readonly annotations: Readonly<Record<string, string>>;
  /** Those that begin the pod, those of it, and those that were added to look at it. */
  readonly containers: readonly JsonObject[];
  readonly windows: boolean;
}

export function podParts(spec: JsonObject, annotations: Readonly<Record<string, string>> = {}): PodParts {
  const containers = ['initContainers', 'containers', 'ephemeralContainers'].flatMap((key) =>
    listAt(spec, key).filter(isObject),
  );
  return { spec, annotations, containers, windows: stringAt(spec, 'os', 'name') === 'windows' };
}

/** A field of the security context of the pod, or of one container. */
export function securityOf(part: JsonObject, ...path: string[]): JsonValue | undefined {
  return at(part, 'securityContext', ...path) ?? undefined;
}

export function nameOf(part: JsonObject): string {
  return stringAt(part, 'name') ?? '';
}

/** `container "a"` or `containers "a", "b"`. */
export function some(noun: string, names: readonly string[]): string {
  return `${plural(noun, names)} ${quoted(names)}`;
}

export function plural(noun: string, items: readonly unknown[], many: string = `${noun}s`): string {
  return items.length === 1 ? noun : many;
}

export function quoted(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(', ');
}

/** Each text once, in the order of their bytes. */
export function sorted(texts: Iterable<string>): string[] {
  return [...new Set(texts)].sort();
}

/** The pod and its containers where a value of their security contexts is not as it should be. */
interface Setters {
  readonly pod: boolean;
  readonly containers: readonly string[];
  readonly values: readonly JsonValue[];
  /** `pod and containers "a", "b"`. */
  readonly text: string;
}

export function settersOf(
  parts: PodParts,
  path: readonly string[],
  isWrong: (value: JsonValue) => boolean,
): Setters | undefined {
  const values: JsonValue[] = [];
  const wrong = (part: JsonObject): boolean => {
    const value = securityOf(part, ...path);
    if (value === undefined || !isWrong(value)) return false;
    values.push(value);
    return true;
  };
  const pod = wrong(parts.spec);
  const containers = parts.containers.filter(wrong).map(nameOf);
  if (values.length === 0) return undefined;
  return { pod, containers, values, text: setterText(pod, containers) };
}

export function setterText(pod: boolean, containers: readonly string[]): string {
  return [...(pod ? ['pod'] : []), ...(containers.length > 0 ? [some('container', containers)] : [])].join(
    ' and ',
  );
}
