import { isObject, type JsonObject, type JsonValue } from './json.ts';
import type { OpenApiSchema, TypeSchema } from './open-api-schema.ts';
import { resolved, valuesOf } from './schema-lookup.ts';

type Resolve = TypeSchema['resolve'];

/** What filling does at one type: fields that are written even when unset, and where to go on. */
interface Plan {
  readonly zeros: readonly (readonly [string, '' | 0 | false | null])[];
  /** Structs that are always there, even if empty. */
  readonly structs: readonly string[];
  readonly fields: ReadonlyMap<string, Plan>;
  readonly items: Plan | undefined;
  readonly values: Plan | undefined;
  /** False while it is being made: then nobody can tell yet whether it does something. */
  readonly done: boolean;
}

/** Plans by definition; one that is being made is found here already, so that recursive types end. */
const plans = new WeakMap<Resolve, WeakMap<OpenApiSchema, MutablePlan>>();
type MutablePlan = { -readonly [Key in keyof Plan]: Plan[Key] };

/**
 * Sets the fields that objects of built-in kinds always hold, in place: the types behind these kinds write some fields even
 * when they are unset (`resources: {}`, `creationTimestamp: null`, `name: ""`). The object's own `metadata` is left alone.
 */
export function fillZeroFields(object: JsonObject, type: TypeSchema): void {
  fillObject(object, planOf(type.schema, type.resolve), true);
}

function fillObject(object: JsonObject, plan: Plan, root: boolean): void {
  for (const [key, zero] of plan.zeros) if (object[key] === undefined) object[key] = zero;
  for (const key of plan.structs) if (object[key] === undefined && !(root && key === 'metadata')) object[key] = {};
  for (const [key, member] of plan.fields) {
    const value = object[key];
    if (value !== undefined && !(root && key === 'metadata')) fill(value, member);
  }
  if (plan.values)
    for (const key in object) {
      const value = object[key];
      if (value !== undefined && !plan.fields.has(key)) fill(value, plan.values);
    }
}

function fill(value: JsonValue, plan: Plan): void {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) fillObject(value, plan, false);
  else if (plan.items) for (const item of value) fill(item, plan.items);
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
  const fields = new Map<string, Plan>();
  const plan: MutablePlan = { zeros, structs, fields, items: undefined, values: undefined, done: false };
  known.set(schema, plan);
  for (const key in schema.properties) {
    const property = schema.properties[key];
    if (property === undefined) continue;
    const { default: zero } = property;
    if (property.emitsNull) zeros.push([key, null]);
    else if (zero === '' || zero === 0 || zero === false) zeros.push([key, zero]);
    // A time is a struct to the types, yet it is not written as one.
    else if (isObject(zero) && Object.keys(zero).length === 0 && resolved(property, resolve).type === 'object')
      structs.push(key);
    const member = planOf(property, resolve);
    if (!isEmptyPlan(member)) fields.set(key, member);
  }
  const values = valuesOf(schema);
  if (schema.items) plan.items = unlessEmpty(planOf(schema.items, resolve));
  if (values) plan.values = unlessEmpty(planOf(values, resolve));
  plan.done = true;
  return plan;
}

function unlessEmpty(plan: Plan): Plan | undefined {
  return isEmptyPlan(plan) ? undefined : plan;
}

function isEmptyPlan(plan: Plan): boolean {
  return (
    plan.done &&
    plan.zeros.length === 0 &&
    plan.structs.length === 0 &&
    plan.fields.size === 0 &&
    plan.items === undefined &&
    plan.values === undefined
  );
}
