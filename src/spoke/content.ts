import {
  BUNDLE,
  type Bundle,
  type DispatchSpec,
  SYSTEM_NAMESPACE,
  unpackBundles,
} from '../engine/dispatch/index.ts';
import type { Client } from '../kube/client.ts';
import { resourceIdOf } from '../kube/custom-resource.ts';
import type { KubeObject } from '../kube/object.ts';
import { hasCode, ignoring } from '../kube/status-error.ts';
import { errorText } from '../runtime/log.ts';

/** The content of revisions, read from the bundles in the spoke's own API server. */
export interface ContentStore {
  /** The objects of a dispatch before its patches. Throws `ContentMissing` when they are not here, or not what they claim to be. */
  objects(spec: DispatchSpec): Promise<readonly KubeObject[]>;
  /** Deletes bundles that no dispatch refers to and that are older than the grace that a hub may need to write a dispatch. */
  collect(inUse: ReadonlySet<string>, now: number): Promise<void>;
}

export class ContentMissing extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ContentMissing';
  }
}

const BUNDLES = resourceIdOf(BUNDLE);
const UNUSED_GRACE_MS = 60_000;

export function contentStore(client: Client): ContentStore {
  return {
    async objects(spec: DispatchSpec): Promise<readonly KubeObject[]> {
      if (spec.bundles.length === 0) return [];
      let bundles: Bundle[];
      try {
        bundles = await Promise.all(
          spec.bundles.map((name) => client.get<Bundle>(BUNDLES, SYSTEM_NAMESPACE, name)),
        );
      } catch (error) {
        // Of an API server that does not answer it is not known what it has.
        if (hasCode(error, 404)) throw new ContentMissing(errorText(error));
        throw error;
      }
      try {
        return unpackBundles(bundles, spec.revision);
      } catch (error) {
        throw new ContentMissing(errorText(error));
      }
    },
    async collect(inUse: ReadonlySet<string>, now: number): Promise<void> {
      const bundles = await client.list<Bundle>(BUNDLES, SYSTEM_NAMESPACE);
      for (const bundle of bundles.items) {
        const name = bundle.metadata.name ?? '';
        const age = now - Date.parse(bundle.metadata.creationTimestamp ?? '');
        if (inUse.has(name) || !(age > UNUSED_GRACE_MS)) continue;
        await ignoring(404, client.delete(BUNDLES, SYSTEM_NAMESPACE, name));
      }
    },
  };
}
