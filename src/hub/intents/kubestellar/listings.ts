import {
  type Binding,
  combineModulations,
  type ListedObject,
  listedIn,
  listedKey,
  type Modulation,
} from '../../../dialects/kubestellar/index.ts';

/** What all Bindings list, by object: several may bring one, and then what one of them asks for holds. */
export interface Listings {
  /** Notes what a Binding lists now, and gives the other Bindings for which that changes something. `undefined`: it is gone. */
  put(name: string, binding: Binding | undefined): ReadonlySet<string>;
  /** What all together say of an object, and how many clusters those mean that ask for its status. */
  combined(listed: ListedObject): { readonly modulation: Modulation; readonly reporting: number };
}

interface Listing {
  readonly listed: ListedObject;
  readonly destinations: readonly string[];
}

export function createListings(): Listings {
  /** By object, then by Binding. */
  const byObject = new Map<string, Map<string, Listing>>();
  const byBinding = new Map<string, ReadonlySet<string>>();
  return {
    put(name, binding): ReadonlySet<string> {
      const concerned = new Set<string>();
      const destinations = (binding?.spec?.destinations ?? []).map(({ clusterId }) => clusterId);
      const now = new Map(listedIn(binding?.spec).map((listed) => [listedKey(listed), listed]));
      for (const key of new Set([...(byBinding.get(name) ?? []), ...now.keys()])) {
        const listings = byObject.get(key) ?? new Map<string, Listing>();
        const before = listings.get(name);
        const listed = now.get(key);
        if (listed) {
          listings.set(name, { listed, destinations });
          byObject.set(key, listings);
        } else if (listings.delete(name) && listings.size === 0) byObject.delete(key);
        if (saidBy(before) !== saidBy(listed && { listed, destinations }))
          for (const other of listings.keys()) if (other !== name) concerned.add(other);
      }
      if (now.size === 0) byBinding.delete(name);
      else byBinding.set(name, new Set(now.keys()));
      return concerned;
    },
    combined(listed) {
      const listings = [...(byObject.get(listedKey(listed))?.values() ?? [])];
      const reporting = listings.filter((listing) => asksForStatus(listing.listed));
      return {
        modulation: combineModulations([listed, ...listings.map((listing) => listing.listed)]),
        reporting: new Set(reporting.flatMap(({ destinations }) => destinations)).size,
      };
    },
  };
}

function asksForStatus({ wantSingletonReportedState, wantMultiWECReportedState }: Modulation): boolean {
  return wantSingletonReportedState === true || wantMultiWECReportedState === true;
}

/** What of a listing matters to others. */
function saidBy(listing: Listing | undefined): string {
  if (!listing) return '';
  const { createOnly, ...rest } = combineModulations([listing.listed]);
  if (!asksForStatus(rest)) return createOnly === true ? 'createOnly' : '';
  return JSON.stringify([createOnly, rest, listing.destinations]);
}
