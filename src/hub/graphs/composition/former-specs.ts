import {
  GRAPH_REVISION,
  type GraphRevision,
  type ResourceGraphDefinition,
} from '../../../dialects/kro/index.ts';
import type { Client } from '../../../kube/client.ts';
import { resourceIdOf } from '../../../kube/custom-resource.ts';
import { pagesOf } from '../../../kube/pages.ts';

/**
 * What revisions of definitions said that clusters may still run: those that are pinned, those on which a new one has not come through yet,
 * those whose successor is wrong. Looked up once; what changes later is told.
 */
export interface FormerSpecs {
  of(name: string): readonly ResourceGraphDefinition['spec'][];
  note(definition: ResourceGraphDefinition): void;
  /** Reads all revisions of the hub that there are. */
  read(): Promise<void>;
}

const REVISIONS = resourceIdOf(GRAPH_REVISION);
const PAGE = 500;
/** Of one definition; the oldest go first. */
const MOST = 50;

/** `counts` says which of them are of interest: all others are not kept. */
export function formerSpecs(
  client: Client,
  counts: (spec: ResourceGraphDefinition['spec']) => boolean,
): FormerSpecs {
  const specs = new Map<string, ResourceGraphDefinition['spec'][]>();

  function keep(name: string, spec: ResourceGraphDefinition['spec']): void {
    if (!counts(spec)) return;
    const known = specs.get(name);
    if (!known) specs.set(name, [spec]);
    else if (known.push(spec) > MOST) known.shift();
  }

  return {
    of: (name) => specs.get(name) ?? [],
    note: ({ metadata, spec }) => keep(metadata.name ?? '', spec),
    async read() {
      const found: GraphRevision[] = [];
      for await (const items of pagesOf<GraphRevision>(client, REVISIONS, '', { limit: PAGE }))
        found.push(...items.filter(({ spec }) => counts(spec.snapshot.spec)));
      specs.clear();
      for (const { spec } of found) keep(spec.snapshot.name, spec.snapshot.spec);
    },
  };
}
