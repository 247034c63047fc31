import { dereference, type OpenApiSchema, type TypeSchema } from './open-api-schema.ts';

type Resolve = TypeSchema['resolve'];

/** Joining a reference with what stands beside it makes a new object; each is made once for as long as its schema lives. */
const joined = new WeakMap<Resolve, WeakMap<OpenApiSchema, OpenApiSchema>>();

/** {@link dereference}, remembered: schemas and the definitions that `resolve` knows do not change. */
export function resolved(schema: OpenApiSchema, resolve: Resolve): OpenApiSchema {
  if (schema.$ref === undefined && (schema.allOf?.length !== 1 || schema.allOf[0]?.$ref === undefined)) {
    return schema;
  }
  let known = joined.get(resolve);
  if (!known) {
    known = new WeakMap();
    joined.set(resolve, known);
  }
  let found = known.get(schema);
  if (!found) {
    found = dereference(schema, resolve);
    known.set(schema, found);
  }
  return found;
}

/** The schema that is written for a property, not followed. `constructor` and the like are names as any other. */
export function propertyOf(schema: OpenApiSchema, key: string): OpenApiSchema | undefined {
  const { properties } = schema;
  return properties !== undefined && Object.hasOwn(properties, key) ? properties[key] : undefined;
}

/** The schema of the values of a map, not followed. */
export function valuesOf(schema: OpenApiSchema): OpenApiSchema | undefined {
  return typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined;
}

/** The schema of a key's value, followed: of the property, or of the map's values. */
export function memberSchema(
  schema: OpenApiSchema,
  key: string,
  resolve: Resolve,
): OpenApiSchema | undefined {
  const found = propertyOf(schema, key) ?? valuesOf(schema);
  return found && resolved(found, resolve);
}
