import { List } from './list.ts';
import type { Value } from './value.ts';

const COPY_UP_TO = 64;

/** Two lists as one, without copying: `+` costs the same however long they are. */
export class ConcatList extends List {
  readonly left: List;
  readonly right: List;
  readonly total: number;
  constructor(left: List, right: List) {
    super([]);
    this.left = left;
    this.right = right;
    this.total = left.size + right.size;
  }
  override get size(): number {
    return this.total;
  }
  override get(index: number): Value {
    const split = this.left.size;
    return index < split ? this.left.get(index) : this.right.get(index - split);
  }
  override *[Symbol.iterator](): Iterator<Value> {
    yield* this.left;
    yield* this.right;
  }
  override toArray(): Value[] {
    return [...this.left.toArray(), ...this.right.toArray()];
  }
}

export function concatenate(left: List, right: List): List {
  if (left.size === 0) return right;
  if (right.size === 0) return left;
  if (left.size + right.size <= COPY_UP_TO) return new List([...left.toArray(), ...right.toArray()]);
  return new ConcatList(left, right);
}
