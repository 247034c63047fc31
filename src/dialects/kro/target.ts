import { TARGET_CLUSTER } from '../../engine/graph/index.ts';
import { isObject, type JsonObject, type JsonValue, stringAt } from '../../schema/json.ts';

type Wrong = (path: string, message: string, expected: string) => void;

/**
 * Nodes with their targets: what the definition says of all holds for those that say nothing. The name of the cluster goes into
 * the template, where it is an expression like others; that the node has a target is what gives the annotation its meaning.
 */
export function withTargets(
  resources: readonly JsonValue[],
  common: JsonValue | undefined,
  wrong: Wrong,
): JsonObject[] {
  return resources.filter(isObject).map((resource, index) => {
    const own = resource['target'] ?? undefined;
    const target = own ?? (resource['template'] ? (common ?? undefined) : undefined);
    if (target === undefined) return resource;
    const path = own === undefined ? 'target' : `resources[${index}].target`;
    const cluster = stringAt(target, 'cluster', 'name');
    const { template } = resource;
    if (cluster === undefined || cluster.trim() === '') {
      wrong(`${path}.cluster.name`, 'it is missing', 'the name of a cluster');
      return resource;
    }
    if (!isObject(template)) {
      wrong(path, 'only a node with a template can be on another cluster', 'a template');
      return resource;
    }
    const { metadata } = template;
    const annotations = isObject(metadata) ? (metadata['annotations'] ?? {}) : undefined;
    if (!isObject(metadata) || !isObject(annotations)) {
      wrong(
        `resources[${index}].template.metadata`,
        'with a target, metadata and its annotations cannot be expressions as a whole',
        'an object',
      );
      return resource;
    }
    const marked = { ...metadata, annotations: { ...annotations, [TARGET_CLUSTER]: cluster } };
    return { ...resource, target, template: { ...template, metadata: marked } };
  });
}
