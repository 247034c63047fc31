import type { Value } from './value.ts';

/** Makes a value from what lies in JSON or in a host's data. */
export type Adapter = (raw: unknown) => Value;

/** Kubernetes' list types: they change what equality and `+` mean. */
export type ListMerging =
  | { readonly kind: 'set' }
  | { readonly kind: 'map'; readonly keys: readonly string[] };

/** A list over an array whose elements are adapted when they are looked at. */
export class List {
  readonly items: readonly unknown[];
  /** `undefined`: the items are values already. */
  readonly adapter: Adapter | undefined;
  readonly merging: ListMerging | undefined;
  constructor(items: readonly unknown[], adapter?: Adapter, merging?: ListMerging) {
    this.items = items;
    this.adapter = adapter;
    this.merging = merging;
  }
  get size(): number {
    return this.items.length;
  }
  get(index: number): Value {
    const raw = this.items[index];
    return this.adapter ? this.adapter(raw) : (raw as Value);
  }
  *[Symbol.iterator](): Iterator<Value> {
    for (let index = 0; index < this.items.length; index++) yield this.get(index);
  }
  toArray(): Value[] {
    return this.adapter ? this.items.map(this.adapter) : (this.items.slice() as Value[]);
  }
}
