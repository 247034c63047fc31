import { TARGET_CLUSTER } from '../../engine/graph/index.ts';
import { isObject, type JsonObject, type JsonValue, objectAt, stringAt } from '../../schema/json.ts';
import type { SecretName } from './remote-object.ts';

type Wrong = (path: string, message: string, expected: string) => void;

/** As SpokeClusters and Secrets are called. */
const CLUSTER_NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$/;
const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const MAX_NAME = 253;
/** As KREP-012 has it. */
const SECRETS_NAMESPACE = 'kro-system';

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
    const hub = objectAt(own, 'hub');
    if (hub) return withHub(resource, hub, path, wrong);
    const cluster = clusterOf(objectAt(target, 'cluster') ?? {}, `${path}.cluster`, wrong);
    if (cluster === undefined) return resource;
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

/** What a hub says of a node when it hands a definition on; at a hub nobody writes it. */
function withHub(resource: JsonObject, hub: JsonObject, path: string, wrong: Wrong): JsonObject {
  const { target: _target, ...rest } = resource;
  const template = resource['template'];
  if (!isObject(template) || !isObject(template['metadata']))
    wrong(`${path}.hub`, 'only a node with a template can have it', 'a template with metadata');
  if (hub['schema'] !== undefined && !isObject(hub['schema']))
    wrong(`${path}.hub.schema`, 'it is no object', 'an OpenAPI schema');
  return { ...rest, hub };
}

/** What goes into the template: the name of a cluster, or `namespace/name` of a Secret. */
function clusterOf(cluster: JsonObject, path: string, wrong: Wrong): string | undefined {
  const name = cluster['name'] ?? undefined;
  const secret = cluster['kubeconfigSecretName'] ?? undefined;
  if (secret === undefined) {
    const written = typeof name === 'string' ? name : '';
    return isNamed(written, `${path}.name`, 'cluster', CLUSTER_NAME, wrong) ? written : undefined;
  }
  if (name !== undefined) {
    wrong(path, 'it has both name and kubeconfigSecretName', 'one of them');
    return undefined;
  }
  const [written, namespace] = [secret, cluster['kubeconfigSecretNamespace'] ?? SECRETS_NAMESPACE].map(
    (value) => (typeof value === 'string' ? value : ''),
  );
  const right = [
    isNamed(written ?? '', `${path}.kubeconfigSecretName`, 'Secret', CLUSTER_NAME, wrong),
    isNamed(namespace ?? '', `${path}.kubeconfigSecretNamespace`, 'namespace', NAMESPACE, wrong),
  ];
  return right.every(Boolean) ? `${namespace}/${written}` : undefined;
}

function isNamed(name: string, path: string, what: string, form: RegExp, wrong: Wrong): boolean {
  const written = name.trim();
  if (written === '') {
    wrong(path, 'it is missing', `the name of a ${what}`);
    return false;
  }
  if (written.includes('${') || (written.length <= MAX_NAME && form.test(written))) return true;
  wrong(
    path,
    `${JSON.stringify(name)} can be the name of no ${what}`,
    'lower-case letters, digits, - and ., or an expression',
  );
  return false;
}

/** The Secret of a target, expressions as they are written. */
export function secretOfTarget(target: unknown): SecretName | undefined {
  const name = stringAt(target, 'cluster', 'kubeconfigSecretName')?.trim() ?? '';
  const namespace = stringAt(target, 'cluster', 'kubeconfigSecretNamespace')?.trim() ?? SECRETS_NAMESPACE;
  return name === '' ? undefined : { namespace, name };
}
