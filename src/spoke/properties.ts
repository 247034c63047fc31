import { clusterPropertiesOf } from '../dialects/kubevela/cluster-properties.ts';
import type { Client } from '../kube/client.ts';
import type { Informer } from '../kube/informer.ts';
import { startInformer } from '../kube/informer-cache.ts';
import type { KubeObject } from '../kube/object.ts';
import { customResourceDefinitions } from '../kube/well-known.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { at, listAt, stringAt } from '../schema/json.ts';

/** What the cluster says of itself, for placements at the hub. */
export interface Properties {
  current(): Record<string, string>;
  stop(): void;
}

/** Neither kind is ours: they are followed where somebody installed them. */
const PROPERTIES = 'clusterproperties.about.k8s.io';
const CLAIMS = 'clusterclaims.cluster.open-cluster-management.io';

export function followProperties(runtime: Runtime, client: Client, onChange: () => void): Properties {
  const [properties, claims] = [PROPERTIES, CLAIMS].map((name) =>
    followWhereDefined(runtime, client, name, onChange),
  );
  return {
    current: () => clusterPropertiesOf(properties?.list() ?? [], claims?.list() ?? []),
    stop(): void {
      properties?.stop();
      claims?.stop();
    },
  };
}

/** The objects of a kind that may be defined or not, now or later. */
function followWhereDefined(
  runtime: Runtime,
  client: Client,
  definition: string,
  onChange: () => void,
): Pick<Informer, 'list' | 'stop'> {
  let objects: Informer | undefined;
  let version: string | undefined;
  const definitions = startInformer(runtime, client, customResourceDefinitions, {
    fieldSelector: `metadata.name=${definition}`,
  });

  function follow(next: string | undefined, object: KubeObject): void {
    if (next === version) return;
    version = next;
    objects?.stop();
    objects = undefined;
    if (next !== undefined) {
      const [resource = '', ...group] = definition.split('.');
      const kind = stringAt(object, 'spec', 'names', 'kind') ?? '';
      objects = startInformer(runtime, client, {
        group: group.join('.'),
        version: next,
        resource,
        kind,
        namespaced: false,
      });
      objects.onChange(onChange);
    }
    onChange();
  }

  definitions.onChange(({ type, object }) => {
    const served = listAt(object, 'spec', 'versions').find((item) => at(item, 'served') === true);
    follow(type === 'deleted' ? undefined : stringAt(served, 'name'), object);
  });
  return {
    list: () => objects?.list() ?? [],
    stop(): void {
      definitions.stop();
      objects?.stop();
    },
  };
}
