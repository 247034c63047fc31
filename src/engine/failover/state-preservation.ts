import type { JsonValue } from '../../schema/json.ts';
import { compileJsonPath, JsonPathError } from '../../schema/json-path.ts';
import { validateLabelKey, validateLabelValue } from '../../schema/names.ts';
import type { StateRule } from './options.ts';

/** Labels that carry the state of an old copy to the new one, and what could not be carried. */
export interface PreservedState {
  readonly labels: Readonly<Record<string, string>>;
  readonly problems: readonly string[];
}

/** Reads the rules' values from the status of the copy that is given up. A value that is not there is no problem: it is left out. */
export function preserveState(rules: readonly StateRule[], status: JsonValue | undefined): PreservedState {
  const labels: Record<string, string> = {};
  const problems: string[] = [];
  for (const { label, jsonPath } of rules) {
    const key = validateLabelKey(label);
    if (key.length > 0) {
      problems.push(`${label}: ${key.join('; ')}`);
      continue;
    }
    try {
      const [value] = status === undefined ? [] : compileJsonPath(jsonPath)(status);
      if (value === undefined || value === null) continue;
      const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
      const wrong = validateLabelValue(text);
      if (wrong.length > 0)
        problems.push(`${label}: the value at ${jsonPath} cannot be a label: ${wrong.join('; ')}`);
      else labels[label] = text;
    } catch (error) {
      if (!(error instanceof JsonPathError)) throw error;
      problems.push(`${label}: ${error.message}`);
    }
  }
  return { labels, problems };
}
