/**
 * CustomResourceDefinitions: their validation, what they make a logical cluster serve, and how they go.
 *
 * Names are accepted and definitions established within the write that creates or changes them, so REST, discovery and
 * OpenAPI change together, at once. Definitions that are deleted wait for their instances.
 */
export { type ApiBinding, type ApiBindings, boundDefinition, definitionIn } from './bindings.ts';
export { type CleanupActions, definitionCleanup } from './cleanup.ts';
export { type Convert, conversionWebhooks } from './conversion-webhook.ts';
export { customResources } from './custom-resource.ts';
export {
  asDefinition,
  DEFINITIONS_GROUP,
  DEFINITIONS_RESOURCE,
  type Definition,
  isDefinitionResource,
  isEstablished,
} from './definition.ts';
export { decideOnDefinition, definitionStrategy } from './definition-strategy.ts';
export { validateDefinition, validateDefinitionUpdate } from './definition-validation.ts';
export { type ClusterResources, type ResourceRegistry, resourceRegistry } from './registry.ts';
