import { isObject, type JsonObject } from '../../schema/json.ts';
import type { SecretName } from './remote-object.ts';
import { secretOfTarget } from './target.ts';
import type { ResourceGraphDefinitionSpec } from './types.ts';

/** Condition of a definition that names Secrets with kubeconfigs: whether its objects can be on those clusters. */
export const KUBECONFIG_TARGETS_READY = 'KubeconfigTargetsReady';

/** What a definition puts on, or reads from, a cluster that it names by a Secret. */
export interface SecretAim {
  readonly path: string;
  /** Known for instances only where an expression says it. */
  readonly secret?: SecretName;
  readonly body: JsonObject;
  /** It is made there, not only read. */
  readonly made: boolean;
}

export function secretAims({ resources = [], target: common }: ResourceGraphDefinitionSpec): SecretAim[] {
  return resources.flatMap(({ template, externalRef, target }, index): SecretAim[] => {
    const body = template ?? (externalRef as unknown as JsonObject | undefined);
    const secret = secretOfTarget(target ?? (template ? common : undefined));
    if (!secret || !isObject(body)) return [];
    const path = target ? `resources[${index}].target` : 'target';
    const known = !`${secret.namespace}/${secret.name}`.includes('${');
    return [{ path, ...(known && { secret }), body, made: template !== undefined }];
  });
}
