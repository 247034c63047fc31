import type { JsonValue } from './json.ts';
import type { OpenApiSchema } from './open-api-schema.ts';

/** Short forms for writing the schemas of our own kinds. `description` shows up in `kubectl explain`. */

export function text(description?: string, more: OpenApiSchema = {}): OpenApiSchema {
  return { type: 'string', ...(description === undefined ? {} : { description }), ...more };
}

export function integer(description?: string, more: OpenApiSchema = {}): OpenApiSchema {
  return { type: 'integer', ...(description === undefined ? {} : { description }), ...more };
}

export function flag(description?: string, more: OpenApiSchema = {}): OpenApiSchema {
  return { type: 'boolean', ...(description === undefined ? {} : { description }), ...more };
}

export function oneOf(
  values: readonly string[],
  description?: string,
  more: OpenApiSchema = {},
): OpenApiSchema {
  return text(description, { enum: [...values] as JsonValue[], ...more });
}

export function list(items: OpenApiSchema, description?: string, more: OpenApiSchema = {}): OpenApiSchema {
  return { type: 'array', items, ...(description === undefined ? {} : { description }), ...more };
}

/** What says nothing is left out, as an API server leaves it out: what is installed is then what is stated. */
export function record(
  properties: Record<string, OpenApiSchema>,
  description?: string,
  more: OpenApiSchema = {},
): OpenApiSchema {
  return {
    type: 'object',
    ...(Object.keys(properties).length === 0 ? {} : { properties }),
    ...(description === undefined ? {} : { description }),
    ...more,
  };
}

export function mapOf(values: OpenApiSchema, description?: string): OpenApiSchema {
  return {
    type: 'object',
    additionalProperties: values,
    ...(description === undefined ? {} : { description }),
  };
}

/** Any JSON value. */
export function anything(description?: string): OpenApiSchema {
  return {
    'x-kubernetes-preserve-unknown-fields': true,
    ...(description === undefined ? {} : { description }),
  };
}

export function intOrString(description?: string, more: OpenApiSchema = {}): OpenApiSchema {
  return {
    'x-kubernetes-int-or-string': true,
    ...(description === undefined ? {} : { description }),
    ...more,
  };
}

/** `metav1.LabelSelector`. */
export const labelSelectorSchema: OpenApiSchema = record({
  matchLabels: mapOf(text()),
  matchExpressions: list(
    record(
      { key: text(), operator: oneOf(['In', 'NotIn', 'Exists', 'DoesNotExist']), values: list(text()) },
      undefined,
      {
        required: ['key', 'operator'],
      },
    ),
  ),
});

/** `[]metav1.Condition`. */
export const conditionsSchema: OpenApiSchema = list(
  record(
    {
      type: text(),
      status: oneOf(['True', 'False', 'Unknown']),
      reason: text(),
      message: text(),
      lastTransitionTime: text(undefined, { format: 'date-time' }),
      observedGeneration: integer(undefined, { format: 'int64' }),
    },
    undefined,
    { required: ['type', 'status', 'reason', 'message', 'lastTransitionTime'] },
  ),
  'What is known of this object, one entry a type.',
  { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] },
);
