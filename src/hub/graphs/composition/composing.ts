import {
  apiVersionOfKind,
  type ComposedNode,
  composedNodes,
  compositionCycles,
  type HubOnlyKind,
  hubOnlyKinds,
  type ResourceGraphDefinition,
} from '../../../dialects/kro/index.ts';
import { dispatchName } from '../../../engine/dispatch/index.ts';
import type { KubeObject } from '../../../kube/object.ts';
import type { RecordedSource } from '../../intents/records.ts';

/** Definitions whose instances on clusters have parts on the hub. */
export interface Composing {
  readonly sources: readonly { readonly source: RecordedSource; readonly dispatch: string }[];
  /** `apiVersion/kind` of the parts. */
  readonly kinds: ReadonlySet<string>;
  /** Names of these definitions, and of those of the parts. */
  readonly concerned: ReadonlySet<string>;
  /** By the name of a definition: its nodes that are made on the hub, in any revision that clusters may run. */
  readonly nodes: ReadonlyMap<string, readonly ComposedNode[]>;
  /** All kinds that only the hub serves, by `group/kind`. */
  readonly hubOnly: ReadonlyMap<string, HubOnlyKind>;
  /** By the name of a definition: the way from it back to it. */
  readonly cycles: ReadonlyMap<string, readonly string[]>;
}

export function composingOf(
  definitions: readonly ResourceGraphDefinition[],
  former: (name: string) => readonly ResourceGraphDefinition['spec'][] = () => [],
): Composing {
  const hubOnly = hubOnlyKinds(definitions);
  const nodesOf = new Map<string, readonly ComposedNode[]>();
  const sources: Composing['sources'][number][] = [];
  const kinds = new Set<string>();
  const concerned = new Set<string>();
  for (const definition of definitions) {
    const said = [definition.spec, ...former(definition.metadata.name ?? '')];
    const nodes = said.flatMap((spec) => composedNodes({ ...definition, spec }, hubOnly));
    if (nodes.length === 0) continue;
    nodesOf.set(definition.metadata.name ?? '', nodes);
    const source = sourceOf(definition);
    sources.push({ source, dispatch: dispatchName(source) });
    concerned.add(source.name);
    for (const { hubOnly: part } of nodes) {
      kinds.add(`${apiVersionOfKind(part.kind)}/${part.kind.kind}`);
      concerned.add(part.definition.metadata.name ?? '');
    }
  }
  return { sources, kinds, concerned, hubOnly, nodes: nodesOf, cycles: compositionCycles(definitions) };
}

export function sourceOf({
  apiVersion,
  kind,
  metadata: { name = '', uid = '' },
}: KubeObject): RecordedSource {
  return { apiVersion, kind, namespace: '', name, uid };
}
