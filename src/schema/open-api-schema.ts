import type { JsonValue } from './json.ts';

/**
 * The part of OpenAPI that Kubernetes uses to describe types: built-in kinds (with `$ref` into a set of definitions)
 * and the structural schemas of CustomResourceDefinitions (without). One form serves decoding, pruning, defaulting,
 * validation, server-side apply, strategic merge patch and the published OpenAPI documents.
 */
export interface OpenApiSchema {
  $ref?: string;
  type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean';
  format?: string;
  title?: string;
  description?: string;
  default?: JsonValue;
  enum?: JsonValue[];
  nullable?: boolean;
  /** Of a field of a built-in kind: it is written as `null` when it is unset. Never published. */
  emitsNull?: boolean;
  /** Of a scalar field of a built-in kind: its zero is not the same as being unset. Never published. */
  keepsZero?: boolean;
  /** Of a scalar field of a built-in kind: its zero is told as its default, though it is the same as being unset. */
  zeroDefault?: boolean;
  properties?: Record<string, OpenApiSchema>;
  additionalProperties?: OpenApiSchema | boolean;
  required?: string[];
  items?: OpenApiSchema;
  allOf?: OpenApiSchema[];
  anyOf?: OpenApiSchema[];
  oneOf?: OpenApiSchema[];
  not?: OpenApiSchema;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: boolean;
  exclusiveMaximum?: boolean;
  multipleOf?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
  minProperties?: number;
  maxProperties?: number;
  'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map';
  'x-kubernetes-list-map-keys'?: string[];
  'x-kubernetes-map-type'?: 'atomic' | 'granular';
  'x-kubernetes-patch-strategy'?: string;
  'x-kubernetes-patch-merge-key'?: string;
  'x-kubernetes-preserve-unknown-fields'?: boolean;
  'x-kubernetes-int-or-string'?: boolean;
  'x-kubernetes-embedded-resource'?: boolean;
  'x-kubernetes-validations'?: JsonValue[];
  'x-kubernetes-unions'?: JsonValue[];
  'x-kubernetes-group-version-kind'?: { group: string; version: string; kind: string }[];
}

/** A type: a schema and where its `$ref`s lead. */
export interface TypeSchema {
  readonly schema: OpenApiSchema;
  /** Follows a definition name such as `io.k8s.api.core.v1.PodSpec`; `undefined` when there is none. */
  readonly resolve: (name: string) => OpenApiSchema | undefined;
}

/** The definition name in a `$ref`, whatever prefix the document form has. */
export function refName(ref: string): string {
  return ref.slice(ref.lastIndexOf('/') + 1);
}

/** Follows `$ref` and one-element `allOf`, keeping the default and extensions that stand beside the reference. */
export function dereference(schema: OpenApiSchema, resolve: TypeSchema['resolve']): OpenApiSchema {
  let current = schema;
  for (let hops = 0; hops < 16; hops++) {
    const ref = current.$ref ?? (current.allOf?.length === 1 ? current.allOf[0]?.$ref : undefined);
    if (ref === undefined) return current;
    const target = resolve(refName(ref));
    if (!target) return { 'x-kubernetes-preserve-unknown-fields': true };
    const { $ref: _ref, allOf: _allOf, ...beside } = current;
    current = Object.keys(beside).length > 0 ? { ...target, ...beside } : target;
  }
  return current;
}
