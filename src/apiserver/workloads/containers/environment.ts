import { isObject, type JsonObject, listAt, objectAt, stringAt } from '../../../schema/json.ts';
import type { Container } from '../kinds.ts';
import { entriesOf, fieldValue, hostNameOf, type PodFacts, resourceValue } from './pod-facts.ts';

const DEFAULTS: Readonly<Record<string, string>> = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  HOME: '/root',
  KUBERNETES_SERVICE_HOST: '10.96.0.1',
  KUBERNETES_SERVICE_PORT: '443',
  KUBERNETES_SERVICE_PORT_HTTPS: '443',
  KUBERNETES_PORT: 'tcp://10.96.0.1:443',
};

/** The environment of a container: what each has, `envFrom`, then `env`, whose references are filled in. */
export function environmentOf(facts: PodFacts, container: Container): Map<string, string> {
  const out = new Map<string, string>([...Object.entries(DEFAULTS), ['HOSTNAME', hostNameOf(facts.pod)]]);
  const spec = container as unknown as JsonObject;
  for (const source of listAt(spec, 'envFrom')) {
    const prefix = stringAt(source, 'prefix') ?? '';
    for (const [resource, reference] of [
      ['configmaps', 'configMapRef'],
      ['secrets', 'secretRef'],
    ] as const) {
      const object = facts.find(resource, stringAt(source, reference, 'name') ?? '');
      if (object === undefined) continue;
      for (const [key, value] of Object.entries(entriesOf(object)))
        out.set(prefix + key, Buffer.from(value).toString('utf8'));
    }
  }
  for (const variable of listAt(spec, 'env')) {
    const name = stringAt(variable, 'name');
    if (name === undefined) continue;
    const source = objectAt(variable, 'valueFrom');
    const value =
      source === undefined
        ? expandReferences(stringAt(variable, 'value') ?? '', out)
        : referencedValue(facts, container, source);
    if (value !== undefined) out.set(name, value);
  }
  return out;
}

/** `$(NAME)` is the value of a variable before it, `$$` a dollar sign. */
function expandReferences(text: string, known: ReadonlyMap<string, string>): string {
  return text.replace(/\$\$|\$\(([^()]+)\)/g, (whole, name: string | undefined) =>
    name === undefined ? '$' : (known.get(name) ?? whole),
  );
}

function referencedValue(facts: PodFacts, container: Container, source: JsonObject): string | undefined {
  const field = stringAt(source, 'fieldRef', 'fieldPath');
  if (field !== undefined) return fieldValue(facts.pod, field);
  const resource = stringAt(source, 'resourceFieldRef', 'resource');
  if (resource !== undefined)
    return resourceValue(facts, container, resource, stringAt(source, 'resourceFieldRef', 'divisor') ?? '');
  for (const [kind, reference] of [
    ['configmaps', 'configMapKeyRef'],
    ['secrets', 'secretKeyRef'],
  ] as const) {
    const selector = source[reference];
    if (!isObject(selector)) continue;
    const object = facts.find(kind, stringAt(selector, 'name') ?? '');
    const value = object && entriesOf(object)[stringAt(selector, 'key') ?? ''];
    return value && Buffer.from(value).toString('utf8');
  }
  return undefined;
}
