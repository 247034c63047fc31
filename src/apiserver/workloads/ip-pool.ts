/** Gives out the addresses of a private IPv4 range, each once until it is given back. */
export interface IpPool {
  /** The address of `holder`, the same until it is released; another free one when the range is full: never. */
  take(holder: string): string;
  /** Notes an address that a holder has already. */
  hold(holder: string, address: string): void;
  release(holder: string): void;
}

/** `first` and `size` in IPv4 numbers; the first and the last address of the range are left out. */
export function ipPool(first: string, size: number): IpPool {
  const base = first.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
  const byHolder = new Map<string, string>();
  const holders = new Map<string, string>();
  let cursor = 0;

  const text = (number: number): string =>
    [number >>> 24, (number >>> 16) & 255, (number >>> 8) & 255, number & 255].join('.');

  function hold(holder: string, address: string): void {
    release(holder);
    byHolder.set(holder, address);
    holders.set(address, holder);
  }

  function release(holder: string): void {
    const address = byHolder.get(holder);
    if (address === undefined) return;
    byHolder.delete(holder);
    if (holders.get(address) === holder) holders.delete(address);
  }

  return {
    hold,
    release,
    take(holder) {
      const present = byHolder.get(holder);
      if (present !== undefined) return present;
      if (holders.size >= size - 2) throw new RangeError(`the range from ${first} has no free address`);
      for (;;) {
        cursor = (cursor % (size - 2)) + 1;
        const address = text(base + cursor);
        if (holders.has(address)) continue;
        hold(holder, address);
        return address;
      }
    },
  };
}
