import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import {
  deriveDescriptions,
  parseDeclarations,
  withOwnWords,
} from '../../../scripts/generate-descriptions.ts';
import type { OpenApiSchema } from '../../schema/open-api-schema.ts';
import { descriptionsIn, loadCatalogue } from './index.ts';

const directory = mkdtempSync(join(tmpdir(), 'atoll-descriptions-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));
const fileNamed = (name: string): URL => pathToFileURL(join(directory, name));

const DECLARATIONS = `import { Time } from "../meta/v1";
/** A boat. */
export interface Boat {
    /** What it is called. */
    readonly name?: string;
    /**
     * How long it is.
     *
     *  1. In metres.
     *  - Never in feet.
     */
    length: number;
    silent?: string;
    /** Where it may go. */
    "x-waters"?: {
        [name: string]: string;
    };
    after?: string;
}
/** When. */
export type Time = string;
export interface Plain {
    kind?: "Plain";
}
`;

describe('descriptions of built-in kinds', () => {
  it('are the comments of types and their fields', () => {
    const types = parseDeclarations(DECLARATIONS);
    expect([...types.keys()]).toEqual(['Boat', 'Time', 'Plain']);
    expect(types.get('Boat')?.own).toBe('A boat.');
    expect(Object.fromEntries(types.get('Boat')!.fields)).toEqual({
      name: 'What it is called.',
      length: 'How long it is.\n\n 1. In metres.\n - Never in feet.',
      'x-waters': 'Where it may go.',
    });
    expect(types.get('Time')).toEqual({ own: 'When.', fields: new Map() });
    expect(types.get('Plain')).toEqual({ own: '', fields: new Map() });
  });

  it('are taken for what the catalogue has, from another version where the package lacks one', () => {
    const texts = (own: string, fields: Record<string, string>) => ({
      own,
      fields: new Map(Object.entries(fields)),
    });
    const comments = new Map([
      ['io.k8s.api.core.v1.ConfigMap', texts('A map.', { kind: 'The kind.', data: 'The data.' })],
      ['io.k8s.api.sea.v1alpha1.Boat', texts('A boat.', { length: 'How long.', gone: 'Not any more.' })],
    ]);
    const properties = { kind: {}, length: {} };
    const definitions: Record<string, OpenApiSchema> = {
      'io.k8s.api.sea.v1.Boat': {
        properties,
        'x-kubernetes-group-version-kind': [{ group: 'sea', version: 'v1', kind: 'Boat' }],
      },
      'io.k8s.api.sea.v1.Unknown': { properties },
    };
    const derived = deriveDescriptions(definitions, comments);
    expect(Object.keys(derived.definitions)).toEqual(['io.k8s.api.sea.v1.Boat']);
    writeFileSync(fileNamed('derived'), gzipSync(JSON.stringify(derived)));
    const boat = descriptionsIn(fileNamed('derived')).open()('io.k8s.api.sea.v1.Boat');
    expect(boat?.own).toBe('A boat.');
    expect(boat?.field('length')).toBe('How long.');
    expect(boat?.field('kind')).toBe('The kind.');
    expect([boat?.field('gone'), boat?.field('constructor')]).toEqual([undefined, undefined]);
  });

  it('are our own words where nobody else has any', () => {
    const comments = new Map([['a.v1.Boat', { own: 'A boat.', fields: new Map([['length', 'How long.']]) }]]);
    const both = withOwnWords(comments, {
      'a.v1.Boat': { '': 'Not taken.', length: 'Not taken.', width: 'How wide.' },
      'a.v1.Crew': { '': 'Who sails.' },
    });
    expect(both.get('a.v1.Boat')?.own).toBe('A boat.');
    expect(Object.fromEntries(both.get('a.v1.Boat')!.fields)).toEqual({
      length: 'How long.',
      width: 'How wide.',
    });
    expect(both.get('a.v1.Crew')).toEqual({ own: 'Who sails.', fields: new Map() });
  });

  it('own words are about definitions and fields that there are', () => {
    const words = JSON.parse(
      readFileSync(new URL('../../../scripts/own-descriptions.json', import.meta.url), 'utf8'),
    ) as Record<string, Record<string, string>>;
    const catalogue = loadCatalogue();
    for (const [name, fields] of Object.entries(words)) {
      const known = Object.keys(catalogue.definition(name)?.properties ?? {});
      for (const field of Object.keys(fields)) if (field !== '') expect(known, name).toContain(field);
    }
  });

  it('are none without a build, and an error that says what to do when damaged', () => {
    const none = descriptionsIn(fileNamed('absent'));
    expect(none.digest).toBe('');
    expect(none.open()('io.k8s.api.core.v1.ConfigMap')).toBeUndefined();
    writeFileSync(fileNamed('damaged'), 'no gzip');
    expect(() => descriptionsIn(fileNamed('damaged')).open()).toThrow(/damaged: build again$/);
  });
});
