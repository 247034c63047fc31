import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { isObject, type JsonObject, type JsonValue } from '../../schema/json.ts';
import { strategyFor } from '../builtins/index.ts';
import { type Descriptions, loadCatalogue } from '../catalogue/index.ts';
import { createOpenApi, type PublishedResource } from './openapi.ts';

const SOURCE = new URL('../../../../shared/data/kubernetes/', import.meta.url);
const hasSource = existsSync(SOURCE);
if (!hasSource) console.warn(`SKIPPED: the documents of Kubernetes are not at ${SOURCE.pathname}`);

const catalogue = loadCatalogue();
const resources = catalogue.resources.map(
  (resource): PublishedResource => ({
    ...resource,
    strategy: strategyFor(resource.group, resource.resource),
  }),
);
const wordless: Descriptions = { digest: '', open: () => () => undefined };
const openApi = createOpenApi(resources, catalogue, wordless);

function served(path: string): JsonObject {
  const { body } = openApi.respond(path, new URLSearchParams(), undefined, undefined)!;
  return JSON.parse(Buffer.from(body as Uint8Array).toString());
}

const read = (file: string): JsonObject => JSON.parse(readFileSync(new URL(file, SOURCE), 'utf8'));

/** CBOR is behind a gate that is closed by default, but was open where these documents come from. */
const isCbor = (text: JsonValue): boolean => typeof text === 'string' && text.includes('cbor');

/**
 * Without words, and parameters where they are used, by name. What v3 makes of a reference that nothing stands beside depends
 * on words again.
 */
function plain(value: JsonValue, shared: JsonObject): JsonValue {
  if (Array.isArray(value)) return value.filter((item) => !isCbor(item)).map((item) => plain(item, shared));
  if (!isObject(value)) return value;
  const { allOf, description: _description, ...rest } = value;
  const whole = Array.isArray(allOf) && Object.keys(rest).length === 0 ? (allOf[0] as JsonObject) : value;
  const out: JsonObject = {};
  for (const [key, item] of Object.entries(whole)) {
    if (isCbor(key) || (key === 'description' && typeof item === 'string')) continue;
    if (key !== 'parameters' || !Array.isArray(item)) out[key] = plain(item ?? null, shared);
    else
      out.parameters = item.map((parameter) => {
        const { $ref } = parameter as JsonObject;
        const found = typeof $ref === 'string' ? shared[$ref.slice('#/parameters/'.length)] : parameter;
        return plain(found ?? null, shared);
      });
  }
  return out;
}

function plainDocument({ parameters = {}, ...document }: JsonObject): JsonObject {
  return plain(document, parameters as JsonObject) as JsonObject;
}

/** Those members of `theirs` that `ours` has. */
function alike(theirs: JsonValue | undefined, ours: JsonValue | undefined): JsonObject {
  return Object.fromEntries(
    Object.keys((ours ?? {}) as JsonObject).map((key) => [key, (theirs as JsonObject)[key] ?? null]),
  );
}

describe.skipIf(!hasSource)('what clients read is what upstream publishes', () => {
  it('[V8] in version 2: every definition and every operation', () => {
    const theirs = plainDocument(read('swagger.json'));
    const ours = plainDocument(served('/openapi/v2'));
    for (const part of ['definitions', 'paths', 'securityDefinitions'] as const)
      expect(ours[part], part).toEqual(alike(theirs[part], ours[part]));
    expect(ours.security).toEqual(theirs.security);
  });

  it('[V7] in version 3: every definition and every operation of every document', () => {
    const files = readdirSync(new URL('openapi-v3/', SOURCE));
    let compared = 0;
    for (const key of Object.keys(served('/openapi/v3').paths as JsonObject)) {
      const file = `${key.replaceAll('/', '__')}_openapi.json`;
      expect(files).toContain(file);
      const theirs = plainDocument(read(`openapi-v3/${file}`));
      const ours = plainDocument(served(`/openapi/v3/${key}`));
      expect(ours.paths, key).toEqual(theirs.paths);
      expect(ours.components, key).toEqual(theirs.components);
      compared++;
    }
    expect(compared).toBeGreaterThan(40);
  });

  it('[V8] with parameters that many operations take said once, but for those that old clients look for', () => {
    const { parameters = {}, paths = {} } = served('/openapi/v2') as Record<string, JsonObject>;
    const theirs = read('swagger.json').parameters as Record<string, JsonObject>;
    const names = (from: JsonObject) =>
      new Set(Object.values(from).map((item) => `${(item as JsonObject).in} ${(item as JsonObject).name}`));
    // Simulated nodes have no logs to look into.
    const { 'logpath-Noq7euwC': _logs, ...others } = theirs;
    expect(names(parameters)).toEqual(names(others));
    const inline = new Set<string>();
    JSON.stringify(paths, (_key, value) => {
      if (value?.in === 'query') inline.add(value.name);
      return value;
    });
    expect([...inline].sort()).toEqual(['dryRun', 'fieldValidation']);
  });
});

describe('documents of older releases', () => {
  const older = createOpenApi(loadCatalogue('1.32').resources, loadCatalogue('1.32'), wordless, '1.32');
  const document = (path: string): JsonObject =>
    JSON.parse(
      Buffer.from(
        older.respond(path, new URLSearchParams(), undefined, undefined)!.body as Uint8Array,
      ).toString(),
    );

  it('[V7] tell of elements with a default, and of all the kinds of a definition', () => {
    const { schemas } = document('/openapi/v3/apis/apps/v1').components as Record<string, JsonObject>;
    const of = (name: string) => schemas![`io.k8s.${name}`] as Record<string, JsonObject>;
    const { args, env } = of('api.core.v1.Container').properties as Record<string, JsonObject>;
    expect(args!.items).toEqual({ type: 'string', default: '' });
    expect(env!.items).toMatchObject({ default: {}, allOf: [{}] });
    const kinds = of('apimachinery.pkg.apis.meta.v1.DeleteOptions')['x-kubernetes-group-version-kind'];
    expect(kinds).toContainEqual({ group: 'batch', kind: 'DeleteOptions', version: 'v1' });
  });

  it('[V7] have no parameters that came later', () => {
    const text = JSON.stringify(document('/openapi/v3/api/v1').paths);
    expect(text).toContain('"sendInitialEvents"');
    expect(text).not.toContain('"shardSelector"');
  });
});
