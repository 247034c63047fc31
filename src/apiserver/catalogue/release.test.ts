import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { loadCatalogue, RELEASES, servedIn } from './index.ts';

const SOURCE = new URL('../../../../shared/data/kubernetes/api-resources.json', import.meta.url);
const hasSource = existsSync(SOURCE);
if (!hasSource) console.warn(`SKIPPED: the facts about resources are not at ${SOURCE.pathname}`);

interface Row {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly enabledByDefault: boolean;
  readonly in: readonly string[];
}

const keyOf = ({ group, version, resource }: Pick<Row, 'group' | 'version' | 'resource'>): string =>
  `${group}/${version}/${resource}`;

describe('the resources of a release', () => {
  const { resources } = loadCatalogue();
  const served = (release: (typeof RELEASES)[number]) => servedIn(release, resources).map(keyOf);

  it.skipIf(!hasSource)('are those that were on by default in it', () => {
    const rows = JSON.parse(readFileSync(SOURCE, 'utf8')) as Row[];
    for (const release of ['1.32', '1.36'] as const) {
      const expected = rows
        .filter((row) => row.enabledByDefault && row.group !== 'resource.k8s.io')
        .filter((row) => row.in.includes(release));
      expect(served(release)).toEqual(expected.map(keyOf).sort());
    }
  });

  it('only ever grow', () => {
    for (const [index, release] of RELEASES.entries()) {
      const next = RELEASES[index + 1];
      if (next) expect(served(next)).toEqual(expect.arrayContaining(served(release)));
    }
    expect(served('1.28')).not.toContain('flowcontrol.apiserver.k8s.io/v1/flowschemas');
    expect(served('1.29')).toContain('flowcontrol.apiserver.k8s.io/v1/flowschemas');
    expect(served('1.35')).not.toContain('admissionregistration.k8s.io/v1/mutatingadmissionpolicies');
  });

  it('have the subresources that they had', () => {
    const podsIn = (release: (typeof RELEASES)[number]) =>
      servedIn(release, resources)
        .find(({ resource }) => resource === 'pods')
        ?.subresources.map(({ name }) => name);
    expect(podsIn('1.32')).not.toContain('resize');
    expect(podsIn('1.33')).toContain('resize');
  });
});
