/**
 * A map from strings to values in key order: chunks of sorted arrays, a B+ tree of two levels. Lookups cost two binary
 * searches; an insertion moves at most one chunk; a scan walks arrays. Good for some million keys.
 *
 * Keys are compared by UTF-16 code units, as `<` does.
 */
export interface SortedMap<V> {
  readonly size: number;
  get(key: string): V | undefined;
  /** Returns the value that was there before. */
  set(key: string, value: V): V | undefined;
  /** Returns the value that was there before. */
  delete(key: string): V | undefined;
  /**
   * Visits entries in key order from `start` on until `visit` returns false. The map must not be changed meanwhile.
   */
  scan(start: string, visit: (key: string, value: V) => boolean): void;
  /** Number of keys `k` with `start <= k < end`. */
  countBetween(start: string, end: string): number;
}

interface Chunk<V> {
  readonly keys: string[];
  readonly values: V[];
}

/** Small enough to move cheaply, large enough that a million keys make a few thousand chunks. */
const CHUNK_SIZE = 256;

export function sortedMap<V>(): SortedMap<V> {
  // Never empty, so that every key has a chunk; only the first chunk of an empty map has no keys.
  const chunks: Chunk<V>[] = [{ keys: [], values: [] }];
  let size = 0;

  /** The last chunk whose first key is not above `key`, or the first one. */
  function chunkIndex(key: string): number {
    let low = 0;
    let high = chunks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((chunks[middle]?.keys[0] ?? '') <= key) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  function chunkAt(index: number): Chunk<V> {
    const chunk = chunks[index];
    if (chunk === undefined) throw new RangeError(`no chunk ${index} of ${chunks.length}`);
    return chunk;
  }

  function insert(index: number, position: number, key: string, value: V): void {
    const chunk = chunkAt(index);
    if (chunk.keys.length < CHUNK_SIZE) {
      chunk.keys.splice(position, 0, key);
      chunk.values.splice(position, 0, value);
      return;
    }
    if (position === CHUNK_SIZE && index === chunks.length - 1) {
      // Keys that come in order, as at start-up, leave full chunks behind.
      chunks.push({ keys: [key], values: [value] });
      return;
    }
    const half = CHUNK_SIZE >>> 1;
    const right: Chunk<V> = { keys: chunk.keys.splice(half), values: chunk.values.splice(half) };
    chunks.splice(index + 1, 0, right);
    if (position <= half) insert(index, position, key, value);
    else insert(index + 1, position - half, key, value);
  }

  /** Joins a chunk that has become small with its right neighbour where both fit well into one. */
  function shrink(index: number): void {
    const chunk = chunkAt(index);
    if (chunk.keys.length === 0 && chunks.length > 1) {
      chunks.splice(index, 1);
      return;
    }
    const right = chunks[index + 1];
    if (right === undefined || chunk.keys.length + right.keys.length > CHUNK_SIZE >>> 1) return;
    chunk.keys.push(...right.keys);
    chunk.values.push(...right.values);
    chunks.splice(index + 1, 1);
  }

  /** Number of keys below `key`. */
  function rank(key: string): number {
    const index = chunkIndex(key);
    let below = lowerBound(chunkAt(index).keys, key);
    for (let i = 0; i < index; i++) below += chunkAt(i).keys.length;
    return below;
  }

  return {
    get size() {
      return size;
    },
    get(key) {
      const chunk = chunkAt(chunkIndex(key));
      const position = lowerBound(chunk.keys, key);
      return chunk.keys[position] === key ? chunk.values[position] : undefined;
    },
    set(key, value) {
      const index = chunkIndex(key);
      const chunk = chunkAt(index);
      const position = lowerBound(chunk.keys, key);
      if (chunk.keys[position] === key) {
        const before = chunk.values[position];
        chunk.values[position] = value;
        return before;
      }
      insert(index, position, key, value);
      size += 1;
      return undefined;
    },
    delete(key) {
      const index = chunkIndex(key);
      const chunk = chunkAt(index);
      const position = lowerBound(chunk.keys, key);
      if (chunk.keys[position] !== key) return undefined;
      const before = chunk.values[position];
      chunk.keys.splice(position, 1);
      chunk.values.splice(position, 1);
      size -= 1;
      if (chunk.keys.length < CHUNK_SIZE >>> 2) shrink(index);
      return before;
    },
    scan(start, visit) {
      let index = chunkIndex(start);
      let position = lowerBound(chunkAt(index).keys, start);
      for (; index < chunks.length; index++, position = 0) {
        const { keys, values } = chunkAt(index);
        for (; position < keys.length; position++) {
          // Both arrays are equally long, so neither read is out of bounds.
          if (!visit(keys[position] as string, values[position] as V)) return;
        }
      }
    },
    countBetween(start, end) {
      return end <= start ? 0 : rank(end) - rank(start);
    },
  };
}

/** The first position whose key is not below `key`. */
function lowerBound(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((keys[middle] ?? '') < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
