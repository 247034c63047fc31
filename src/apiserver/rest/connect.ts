import { asJson, asObject, type KubeObject } from '../../kube/object.ts';
import type { JsonObject } from '../../schema/json.ts';
import type { AdmissionRequest, Scope } from './scope.ts';

/** How the options of a conversation are written as an object, and in a query. */
type Field = 'boolean' | 'text' | 'texts' | 'numbers';

const COMMAND: Readonly<Record<string, Field>> = {
  stdin: 'boolean',
  stdout: 'boolean',
  stderr: 'boolean',
  tty: 'boolean',
  container: 'text',
};

/** By subresource of pods: the kind that admission sees. */
const OPTIONS: Readonly<Record<string, { kind: string; fields: Readonly<Record<string, Field>> }>> = {
  attach: { kind: 'PodAttachOptions', fields: COMMAND },
  exec: { kind: 'PodExecOptions', fields: { ...COMMAND, command: 'texts' } },
  portforward: { kind: 'PodPortForwardOptions', fields: { ports: 'numbers' } },
};

/**
 * Asks admission about a conversation with a pod (operation `CONNECT`). Gives the query as admission leaves it; what is no
 * conversation passes. Throws the `StatusError` of a refusal.
 */
export async function admitConnect(
  scope: Scope,
  name: string,
  query: URLSearchParams,
): Promise<URLSearchParams> {
  const known = OPTIONS[scope.subresource?.name ?? ''];
  if (known === undefined) return query;
  const object = asObject({
    kind: known.kind,
    apiVersion: 'v1',
    ...optionsOf(query, known.fields),
    metadata: {},
  });
  await connect(scope, name, known.kind, object);
  return queryOf(query, asJson(object), known.fields);
}

/** Asks admission about a request that is passed on to what is behind a service or pod, at `path`. Throws as above. */
export async function admitProxy(scope: Scope, name: string, path: string): Promise<void> {
  const kind = scope.subresource?.kind ?? '';
  await connect(scope, name, kind, asObject({ kind, apiVersion: 'v1', metadata: {}, ...(path && { path }) }));
}

async function connect(scope: Scope, name: string, kind: string, object: KubeObject): Promise<void> {
  const { subresource = { name: '', verbs: [] }, server } = scope;
  const request: AdmissionRequest = {
    operation: 'CONNECT',
    scope: { ...scope, subresource: { ...subresource, group: '', version: 'v1', kind } },
    name,
    object,
    old: undefined,
    dryRun: false,
  };
  await server.admission.mutate(request);
  await server.admission.validate(request);
}

function optionsOf(query: URLSearchParams, fields: Readonly<Record<string, Field>>): JsonObject {
  const options: JsonObject = {};
  for (const [name, field] of Object.entries(fields)) {
    const values = query.getAll(name);
    const [first] = values;
    if (first === undefined) continue;
    if (field === 'boolean') {
      if (first !== 'false' && first !== '0') options[name] = true;
    } else if (field === 'text') options[name] = first;
    else if (field === 'texts') options[name] = values;
    else options[name] = values.flatMap((value) => value.split(',')).map(Number);
  }
  return options;
}

/** What is not among the options stays. */
function queryOf(
  query: URLSearchParams,
  object: JsonObject,
  fields: Readonly<Record<string, Field>>,
): URLSearchParams {
  const out = new URLSearchParams(query);
  for (const name of Object.keys(fields)) {
    out.delete(name);
    const value = object[name];
    if (value === undefined || value === null) continue;
    for (const one of Array.isArray(value) ? value : [value]) out.append(name, String(one));
  }
  return out;
}
