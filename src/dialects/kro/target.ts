import { TARGET_CLUSTER } from '../../engine/graph/index.ts';
import { isObject, type JsonObject, type JsonValue, stringAt } from '../../schema/json.ts';

type Wrong = (path: string, message: string, expected: string) => void;

/** As SpokeClusters are called. */
const CLUSTER_NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$/;
const MAX_NAME = 253;

/**
 * Nodes with their targets: what the definition says of all holds for templates that say nothing. The name of the cluster goes into
 * the template, where it is an expression like others; that the node has a target is what gives the annotation its meaning.
 * What is read on another cluster is a template that is not written.
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
    if (cluster === undefined || cluster.trim() === '') {
      wrong(`${path}.cluster.name`, 'it is missing', 'the name of a cluster');
      return resource;
    }
    if (!isClusterName(cluster)) {
      wrong(
        `${path}.cluster.name`,
        `${JSON.stringify(cluster)} can be the name of no cluster`,
        'lower-case letters, digits, - and ., or an expression',
      );
      return resource;
    }
    const { externalRef, template: _template, ...rest } = resource;
    const reads = isObject(externalRef);
    const body = reads ? externalRef : resource['template'];
    const at = `resources[${index}].${reads ? 'externalRef' : 'template'}`;
    if (!isObject(body)) {
      wrong(path, 'only a node with a template or an externalRef can have a target', 'a template');
      return resource;
    }
    const { metadata } = body;
    if (reads && isObject(metadata) && metadata['name'] === undefined) {
      wrong(`${at}.metadata`, 'on another cluster objects are read by name only', 'a name');
      return resource;
    }
    const annotations = isObject(metadata) ? (metadata['annotations'] ?? {}) : undefined;
    if (!isObject(metadata) || !isObject(annotations)) {
      wrong(
        `${at}.metadata`,
        'with a target, metadata and its annotations cannot be expressions as a whole',
        'an object',
      );
      return resource;
    }
    const marked = { ...metadata, annotations: { ...annotations, [TARGET_CLUSTER]: cluster } };
    const template = { ...body, metadata: marked };
    return { ...rest, target, template, ...(reads && { reads }) };
  });
}

function isClusterName(name: string): boolean {
  const written = name.trim();
  return written.includes('${') || (written.length <= MAX_NAME && CLUSTER_NAME.test(written));
}
