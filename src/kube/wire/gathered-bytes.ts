/** Bytes that come piece by piece and are wanted whole. */
export interface GatheredBytes {
  add(piece: Uint8Array): void;
  readonly byteLength: number;
  /** Objects that are held for them. */
  readonly pieces: number;
  whole(): Uint8Array;
}

/** So many pieces become one. */
const MERGED = 1024;

/**
 * Holds little more than the bytes, however small the pieces are that a client sends: each by itself would take a hundred times
 * the memory of one byte. Each byte is copied twice at most.
 */
export function gatherBytes(): GatheredBytes {
  const merged: Uint8Array[] = [];
  let recent: Uint8Array[] = [];
  let byteLength = 0;
  return {
    add(piece) {
      if (piece.byteLength === 0) return;
      byteLength += piece.byteLength;
      recent.push(piece);
      if (recent.length < MERGED) return;
      merged.push(Buffer.concat(recent));
      recent = [];
    },
    get byteLength() {
      return byteLength;
    },
    get pieces() {
      return merged.length + recent.length;
    },
    whole() {
      const [only, ...more] = [...merged, ...recent];
      return only !== undefined && more.length === 0
        ? only
        : Buffer.concat([...merged, ...recent], byteLength);
    },
  };
}
