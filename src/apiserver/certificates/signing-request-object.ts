import type { KubeObject } from '../../kube/object.ts';
import { isObject, type JsonObject, listAt, numberAt, objectAt, stringAt } from '../../schema/json.ts';
import type { UserInfo } from '../auth/index.ts';
import { type RequestContents, requestContents } from './request-contents.ts';

export const CERTIFICATES_GROUP = 'certificates.k8s.io';
export const SIGNING_REQUESTS = 'certificatesigningrequests';

export type RequestConditionType = 'Approved' | 'Denied' | 'Failed';

export function signerOf(request: KubeObject): string {
  return stringAt(request, 'spec', 'signerName') ?? '';
}

export function usagesOf(request: KubeObject): string[] {
  return listAt(request, 'spec', 'usages').filter((usage) => typeof usage === 'string');
}

export function secondsOf(request: KubeObject): number | undefined {
  return numberAt(request, 'spec', 'expirationSeconds');
}

/** The PEM text of what is to be signed. */
export function requestPem(request: KubeObject): string {
  return Buffer.from(stringAt(request, 'spec', 'request') ?? '', 'base64').toString('latin1');
}

/** Throws `RequestError` when it cannot be read. */
export function contentsOf(request: KubeObject): RequestContents {
  return requestContents(requestPem(request));
}

/** Who made the request, as the server noted it. */
export function requesterOf(request: KubeObject): UserInfo {
  const spec = objectAt(request, 'spec');
  const extra = objectAt(spec, 'extra');
  const uid = stringAt(spec, 'uid');
  const texts = (key: string, of: typeof spec): string[] =>
    listAt(of, key).filter((value) => typeof value === 'string');
  return {
    name: stringAt(spec, 'username') ?? '',
    groups: texts('groups', spec),
    ...(uid === undefined ? {} : { uid }),
    ...(extra === undefined
      ? {}
      : { extra: Object.fromEntries(Object.keys(extra).map((key) => [key, texts(key, extra)])) }),
  };
}

export function conditionOf(request: KubeObject, type: RequestConditionType): JsonObject | undefined {
  return listAt(request, 'status', 'conditions')
    .filter(isObject)
    .find((condition) => condition.type === type);
}

export function certificateOf(request: KubeObject): string {
  return stringAt(request, 'status', 'certificate') ?? '';
}
