import { isObject, type JsonObject, type JsonValue } from './json.ts';
import type { OpenApiSchema, TypeSchema } from './open-api-schema.ts';
import { formatQuantity, parseQuantity } from './quantity.ts';
import { resolved, valuesOf } from './schema-lookup.ts';

type Resolve = TypeSchema['resolve'];

const QUANTITY = 'io.k8s.apimachinery.pkg.api.resource.Quantity';

/** What becomes of a field at one type. */
interface FieldPlan {
  /** An empty list or map, or the zero of a scalar, counts as unset and is not written. */
  readonly omitsEmpty: 'scalar' | 'container' | undefined;
  /** An empty list or map is written as null, as if it were unset. */
  readonly nullsEmpty: boolean;
  /** An amount, which has one way of being written. */
  readonly isQuantity: boolean;
  readonly plan: Plan;
}

/** What bringing into form does at one type. */
interface Plan {
  /** Fields that are written even when they are unset. */
  readonly zeros: readonly (readonly [string, '' | 0 | false | null])[];
  /** Structs that are always there, even if empty. */
  readonly structs: readonly string[];
  readonly fields: Map<string, FieldPlan>;
  items: Plan | undefined;
  values: Plan | undefined;
}

/** Plans by definition, so that each is made once and recursive types end. */
const plans = new WeakMap<Resolve, WeakMap<OpenApiSchema, Plan>>();

/**
 * Brings an object of a built-in kind into the form in which the types behind these kinds write it, in place: some fields are
 * there even when they are unset (`resources: {}`, `creationTimestamp: null`, `name: ""`), and others never when they are
 * empty (`labels: {}`, `hostNetwork: false`). The object's own `metadata` is left alone. Null means unset. An object `asStored`
 * has null for lists and maps that are always written and empty, as they are after they were stored.
 */
export function bringIntoForm(object: JsonObject, type: TypeSchema, asStored: boolean = false): void {
  formObject(object, planOf(type.schema, type.resolve), asStored, true);
}

function formObject(object: JsonObject, plan: Plan, asStored: boolean, root: boolean): void {
  for (const key in object) {
    const value = object[key];
    if (value === undefined || (root && key === 'metadata')) continue;
    const field = plan.fields.get(key);
    if (field === undefined) {
      if (plan.values) form(value, plan.values, asStored);
    } else if (field.isQuantity) object[key] = canonical(value);
    else if (field.omitsEmpty !== undefined && isEmpty(value, field.omitsEmpty)) delete object[key];
    else if (asStored && field.nullsEmpty && isEmpty(value, 'container')) object[key] = null;
    else form(value, field.plan, asStored);
  }
  for (const [key, zero] of plan.zeros) if (object[key] === undefined) object[key] = zero;
  for (const key of plan.structs) {
    if (object[key] !== undefined || (root && key === 'metadata')) continue;
    const made: JsonObject = {};
    object[key] = made;
    const field = plan.fields.get(key);
    if (field) formObject(made, field.plan, asStored, false);
  }
}

function form(value: JsonValue, plan: Plan, asStored: boolean): void {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) formObject(value, plan, asStored, false);
  else if (plan.items) for (const item of value) form(item, plan.items, asStored);
}

/** What is no quantity is left for validation to tell. */
function canonical(value: JsonValue): JsonValue {
  const quantity = parseQuantity(value);
  return quantity === undefined ? value : formatQuantity(quantity);
}

function isEmpty(value: JsonValue, as: 'scalar' | 'container'): boolean {
  if (as === 'scalar') return value === '' || value === 0 || value === false;
  if (Array.isArray(value)) return value.length === 0;
  return isObject(value) && Object.keys(value).length === 0;
}

function planOf(written: OpenApiSchema, resolve: Resolve): Plan {
  const schema = resolved(written, resolve);
  let known = plans.get(resolve);
  if (!known) {
    known = new WeakMap();
    plans.set(resolve, known);
  }
  const found = known.get(schema);
  if (found) return found;
  const zeros: [string, '' | 0 | false | null][] = [];
  const structs: string[] = [];
  const fields: Plan['fields'] = new Map();
  const plan: Plan = { zeros, structs, fields, items: undefined, values: undefined };
  known.set(schema, plan);
  for (const key in schema.properties) {
    const property = schema.properties[key];
    if (property === undefined) continue;
    const { default: zero } = property;
    const target = resolved(property, resolve);
    if (property.emitsNull) zeros.push([key, null]);
    else if (zero === '' || zero === 0 || zero === false) zeros.push([key, zero]);
    // A time or a quantity is a struct to the types, yet it is not written as one.
    else if (isObject(zero) && Object.keys(zero).length === 0 && target.type === 'object') structs.push(key);
    const omitsEmpty =
      property.emitsNull || property.default !== undefined ? undefined : omission(property, target);
    const nullsEmpty = property.emitsNull === true && omission(property, target) === 'container';
    const isQuantity = reference(property) === QUANTITY;
    fields.set(key, { omitsEmpty, nullsEmpty, isQuantity, plan: planOf(property, resolve) });
  }
  const values = valuesOf(schema);
  if (schema.items) plan.items = planOf(schema.items, resolve);
  if (values) plan.values = planOf(values, resolve);
  return plan;
}

/** Where a property leads, written alone or beside a default. */
function reference(property: OpenApiSchema): string | undefined {
  return property.$ref ?? (property.allOf?.length === 1 ? property.allOf[0]?.$ref : undefined);
}

function omission(property: OpenApiSchema, target: OpenApiSchema): FieldPlan['omitsEmpty'] {
  if (target.type === 'array') return 'container';
  if (target.type === 'object') return valuesOf(target) ? 'container' : undefined;
  // What a reference leads to (quantities, times) has a form of its own.
  const scalar = property.$ref === undefined && target.type !== undefined && property.keepsZero !== true;
  return scalar ? 'scalar' : undefined;
}
