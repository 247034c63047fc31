import type { JsonObject } from '../../schema/json.ts';
import { validateQualifiedName } from '../../schema/names.ts';
import type { Problems } from './field-checks.ts';
import { duplicate, invalidEach, invalidValue, notSupported, required, tooLong } from './field-errors.ts';
import { isSet, objectsOf, text } from './fields.ts';

const STATUSES: readonly string[] = ['False', 'True', 'Unknown'];
const REASON = /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/;
const REASON_LIMIT = 1024;
const MESSAGE_LIMIT = 32_768;

/** The rules of `metav1.Condition`, for the list that is the member `conditions` of `parent`. */
export function conditionProblems(parent: JsonObject | undefined, path: string): Problems {
  const problems: Problems = [];
  const seen = new Set<string>();
  for (const [index, condition] of objectsOf(parent, 'conditions').entries()) {
    const at = `${path}[${index}]`;
    const type = text(condition, 'type');
    if (seen.has(type)) problems.push(duplicate(`${at}.type`, type));
    seen.add(type);
    if (type === '') problems.push(required(`${at}.type`, 'must be set'));
    else problems.push(...invalidEach(`${at}.type`, type, validateQualifiedName(type)));
    const status = text(condition, 'status');
    if (!STATUSES.includes(status)) problems.push(notSupported(`${at}.status`, status, STATUSES));
    const generation = condition.observedGeneration;
    if (typeof generation === 'number' && generation < 0)
      problems.push(
        invalidValue(`${at}.observedGeneration`, generation, 'must be greater than or equal to zero'),
      );
    if (!isSet(condition.lastTransitionTime))
      problems.push(required(`${at}.lastTransitionTime`, 'must be set'));
    problems.push(...reasonProblems(text(condition, 'reason'), `${at}.reason`));
    if (text(condition, 'message').length > MESSAGE_LIMIT)
      problems.push(tooLong(`${at}.message`, MESSAGE_LIMIT));
  }
  return problems;
}

function reasonProblems(reason: string, path: string): Problems {
  if (reason === '') return [required(path, 'must be set')];
  if (reason.length > REASON_LIMIT) return [tooLong(path, REASON_LIMIT)];
  if (REASON.test(reason)) return [];
  const rule =
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'";
  const detail = `${rule} (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')`;
  return [invalidValue(path, reason, detail)];
}
