import { isObject, type JsonValue } from '../../../schema/json.ts';
import type { OpenApiSchema } from '../../../schema/open-api-schema.ts';

/** One of the `x-kubernetes-validations` of a schema. */
export interface ValidationRule {
  readonly rule: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason?: string;
  /** A path below the value, to which errors are put. */
  readonly fieldPath?: string;
  readonly optionalOldSelf?: boolean;
}

export const REASONS: Readonly<Record<string, 'Invalid' | 'Forbidden' | 'Required' | 'Duplicate'>> = {
  FieldValueDuplicate: 'Duplicate',
  FieldValueForbidden: 'Forbidden',
  FieldValueInvalid: 'Invalid',
  FieldValueRequired: 'Required',
};

export function rulesOf(schema: OpenApiSchema): ValidationRule[] {
  return (schema['x-kubernetes-validations'] ?? []).map(readRule);
}

function readRule(value: JsonValue): ValidationRule {
  const given = isObject(value) ? value : {};
  const text = (key: string): string | undefined => {
    const found = given[key];
    return typeof found === 'string' ? found : undefined;
  };
  const message = text('message');
  const messageExpression = text('messageExpression');
  const reason = text('reason');
  const fieldPath = text('fieldPath');
  return {
    rule: text('rule') ?? '',
    ...(message !== undefined && { message }),
    ...(messageExpression !== undefined && { messageExpression }),
    ...(reason !== undefined && { reason }),
    ...(fieldPath !== undefined && { fieldPath }),
    ...(typeof given['optionalOldSelf'] === 'boolean' && { optionalOldSelf: given['optionalOldSelf'] }),
  };
}

const STEP = /\.([A-Za-z_][A-Za-z0-9_-]*)|\['([^']+)'\]|\["([^"]+)"\]/y;

/** The steps of a `fieldPath`; `undefined` where it is none or leads out of the schema. */
export function fieldPathSteps(path: string, schema: OpenApiSchema): string[] | undefined {
  const steps: string[] = [];
  let current: OpenApiSchema | undefined = schema;
  for (let at = 0; at < path.length; at = STEP.lastIndex) {
    STEP.lastIndex = at;
    const match = STEP.exec(path);
    const name = match?.[1] ?? match?.[2] ?? match?.[3];
    if (!match || name === undefined) return undefined;
    const extra: OpenApiSchema['additionalProperties'] = current.additionalProperties;
    const isKey: boolean = current.properties?.[name] === undefined;
    current = current.properties?.[name] ?? (typeof extra === 'object' ? extra : undefined);
    if (!current) return undefined;
    steps.push(isKey ? `[${name}]` : `.${name}`);
  }
  return steps.length === 0 ? undefined : steps;
}
