import type { Condition, KubeObject } from '../../kube/object.ts';
import type { JsonObject } from '../../schema/json.ts';
import type { OpenApiSchema } from '../../schema/open-api-schema.ts';

/** The definition of a custom resource, `apiextensions.k8s.io/v1`. A view laid over an object that was validated. */
export interface Definition extends KubeObject {
  spec: DefinitionSpec;
  status?: DefinitionStatus;
}

export interface DefinitionSpec {
  group: string;
  names: DefinitionNames;
  scope: 'Cluster' | 'Namespaced';
  versions: DefinitionVersion[];
  conversion?: {
    strategy?: string;
    webhook?: { clientConfig?: JsonObject; conversionReviewVersions?: string[] };
  };
  preserveUnknownFields?: boolean;
}

export interface DefinitionNames {
  plural: string;
  singular?: string;
  shortNames?: string[];
  kind: string;
  listKind?: string;
  categories?: string[];
}

export interface DefinitionVersion {
  name: string;
  served: boolean;
  storage: boolean;
  deprecated?: boolean;
  deprecationWarning?: string;
  schema?: { openAPIV3Schema?: OpenApiSchema };
  subresources?: {
    status?: object;
    scale?: { specReplicasPath: string; statusReplicasPath: string; labelSelectorPath?: string };
  };
  additionalPrinterColumns?: PrinterColumn[];
  selectableFields?: { jsonPath: string }[];
}

export interface PrinterColumn {
  name: string;
  type: string;
  format?: string;
  description?: string;
  priority?: number;
  jsonPath: string;
}

export interface DefinitionStatus {
  acceptedNames?: Partial<DefinitionNames>;
  conditions?: Condition[];
  storedVersions?: string[];
}

export const DEFINITIONS_GROUP = 'apiextensions.k8s.io';
export const DEFINITIONS_RESOURCE = 'customresourcedefinitions';
/** Holds a definition until its instances are gone. */
export const CLEANUP_FINALIZER = 'customresourcecleanup.apiextensions.k8s.io';

export function isDefinitionResource(resource: { group: string; resource: string }): boolean {
  return resource.group === DEFINITIONS_GROUP && resource.resource === DEFINITIONS_RESOURCE;
}

export function asDefinition(object: KubeObject): Definition {
  return object as Definition;
}

export function conditionOf(definition: Definition, type: string): Condition | undefined {
  return definition.status?.conditions?.find((condition) => condition.type === type);
}

export function isEstablished(definition: Definition): boolean {
  return conditionOf(definition, 'Established')?.status === 'True';
}

/** Whether instances may no longer be created because the definition is being deleted. */
export function isTerminating(definition: Definition): boolean {
  return definition.metadata.deletionTimestamp !== undefined;
}

/** Sets a condition, keeping its transition time while its status stays. */
export function setCondition(
  definition: Definition,
  type: string,
  status: Condition['status'],
  reason: string,
  message: string,
  now: string,
): void {
  definition.status ??= {};
  const conditions = definition.status.conditions ?? [];
  definition.status.conditions = conditions;
  const present = conditions.find((condition) => condition.type === type);
  if (!present) {
    conditions.push({ type, status, reason, message, lastTransitionTime: now });
    return;
  }
  if (present.status !== status) present.lastTransitionTime = now;
  Object.assign(present, { status, reason, message });
}
