/** A set of the positions of clusters in a fleet, one bit each. Not changed once it is shared. */
export type ClusterSet = Uint32Array;

export function emptySet(size: number): ClusterSet {
  return new Uint32Array((size + 31) >>> 5);
}

export function fullSet(size: number): ClusterSet {
  const set = emptySet(size).fill(0xffffffff);
  const rest = size & 31;
  if (rest > 0) set[set.length - 1] = 2 ** rest - 1;
  return set;
}

export function add(set: ClusterSet, position: number): void {
  set[position >>> 5] = (set[position >>> 5] ?? 0) | (1 << (position & 31));
}

export function has(set: ClusterSet, position: number): boolean {
  return ((set[position >>> 5] ?? 0) & (1 << (position & 31))) !== 0;
}

export function intersection(a: ClusterSet, b: ClusterSet): ClusterSet {
  return combine(a, (word, index) => word & (b[index] ?? 0));
}

export function union(a: ClusterSet, b: ClusterSet): ClusterSet {
  return combine(a, (word, index) => word | (b[index] ?? 0));
}

export function difference(a: ClusterSet, b: ClusterSet): ClusterSet {
  return combine(a, (word, index) => word & ~(b[index] ?? 0));
}

function combine(a: ClusterSet, operation: (word: number, index: number) => number): ClusterSet {
  const set = new Uint32Array(a.length);
  for (let index = 0; index < a.length; index++) set[index] = operation(a[index] ?? 0, index);
  return set;
}

export function isEmpty(set: ClusterSet): boolean {
  for (const word of set) if (word !== 0) return false;
  return true;
}

export function count(set: ClusterSet): number {
  let total = 0;
  for (const word of set) {
    let bits = word - ((word >>> 1) & 0x55555555);
    bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
    total += (((bits + (bits >>> 4)) & 0x0f0f0f0f) * 0x01010101) >>> 24;
  }
  return total;
}

/** In order of position, which is the order of names. */
export function forEach(set: ClusterSet, visit: (position: number) => void): void {
  for (let index = 0; index < set.length; index++) {
    let word = set[index] ?? 0;
    while (word !== 0) {
      const bit = word & -word;
      visit(index * 32 + 31 - Math.clz32(bit));
      word ^= bit;
    }
  }
}

export function positions(set: ClusterSet): number[] {
  const list: number[] = [];
  forEach(set, (position) => void list.push(position));
  return list;
}
