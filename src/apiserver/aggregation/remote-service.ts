import type { KubeObject } from '../../kube/object.ts';
import { at, numberAt, objectAt, stringAt } from '../../schema/json.ts';
import { parseKey, resourcePrefix } from '../store/key.ts';
import type { StoreRecord } from '../store/store.ts';

export const API_SERVICES: string = resourcePrefix('apiregistration.k8s.io', 'apiservices');

/** A group version that an extension API server serves. */
export interface RemoteService {
  /** Of its APIService in the store. */
  readonly key: string;
  readonly cluster: string;
  readonly group: string;
  readonly version: string;
  readonly service: { readonly namespace: string; readonly name: string; readonly port: number };
  /** PEM. */
  readonly caBundle?: string;
  readonly insecure: boolean;
}

/** What an APIService says; `undefined` for one of this server's own. */
export function remoteServiceOf({ key, object }: StoreRecord): RemoteService | undefined {
  const service = objectAt(object, 'spec', 'service');
  const version = stringAt(object, 'spec', 'version') ?? '';
  if (service === undefined || version === '') return undefined;
  const bundle = stringAt(object, 'spec', 'caBundle') ?? '';
  return {
    key,
    cluster: parseKey(key).cluster,
    group: stringAt(object, 'spec', 'group') ?? '',
    version,
    service: {
      namespace: stringAt(service, 'namespace') ?? '',
      name: stringAt(service, 'name') ?? '',
      port: numberAt(service, 'port') ?? 443,
    },
    ...(bundle === '' ? {} : { caBundle: Buffer.from(bundle, 'base64').toString() }),
    insecure: at(object, 'spec', 'insecureSkipTLSVerify') === true,
  };
}

/** Whether something about an APIService has changed besides its status. */
export function sameService(a: KubeObject, b: KubeObject): boolean {
  return JSON.stringify(a.spec) === JSON.stringify(b.spec);
}
