import { describe, expect, it } from 'vitest';
import { type Descriptions, loadCatalogue } from '../catalogue/index.ts';
import { columnDescriptions } from './column-descriptions.ts';
import { ANY_KIND, COLUMN_SOURCES } from './column-sources.ts';
import { crdColumns, tableOf } from './index.ts';

/** Every field is described by its name. */
function named(): Descriptions & { opened: number } {
  const source = {
    digest: '',
    opened: 0,
    open() {
      source.opened += 1;
      return (definition: string) => ({ own: '', field: (name: string) => `${definition}.${name}` });
    },
  };
  return source;
}

const table = (resource: Parameters<typeof tableOf>[0], descriptions: Descriptions) =>
  (
    tableOf(resource, [], { now: 0, describe: columnDescriptions(descriptions) }) as {
      columnDefinitions: { name: string; description: string }[];
    }
  ).columnDefinitions.map(({ name, description }) => [name, description]);

describe('descriptions of columns', () => {
  const catalogue = loadCatalogue();

  it('come from fields that there are, for columns that there are', () => {
    for (const [resource, sources] of [['', ANY_KIND] as const, ...Object.entries(COLUMN_SOURCES)]) {
      const [group = '', name = ''] = resource.split('/');
      const columns = catalogue.columns(group, name)?.map((column) => column.name);
      for (const [column, source] of Object.entries(sources)) {
        if (resource !== '') expect(columns, `${resource} ${column}`).toContain(column);
        if (source === '' || source.includes(' ')) continue;
        const dot = source.lastIndexOf('.');
        const prefix = source.startsWith('meta.') ? 'io.k8s.apimachinery.pkg.apis' : 'io.k8s.api';
        const definition = catalogue.definition(`${prefix}.${source.slice(0, dot)}`);
        expect(Object.keys(definition?.properties ?? {}), source).toContain(source.slice(dot + 1));
      }
    }
  });

  it('[V34] are those of the fields that built-in columns show', () => {
    const pods = catalogue.resources.find(({ resource }) => resource === 'pods')!;
    const descriptions = named();
    const columns = new Map(table({ ...pods, cells: () => [] }, descriptions) as [string, string][]);
    expect(columns.get('Name')).toBe('io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta.name');
    expect(columns.get('IP')).toBe('io.k8s.api.core.v1.PodStatus.podIP');
    expect(columns.get('Ready')).toBe('How many of its containers are ready, of how many.');
    expect(descriptions.opened).toBe(1);
  });

  it('[V33] of custom columns are their own, or their path', () => {
    const columns = [
      { name: 'Said', type: 'string', jsonPath: '.spec.a', description: 'In words.' },
      { name: 'Silent', type: 'string', jsonPath: '.spec.b' },
    ];
    const about = { group: 'example.com', resource: 'boats' };
    expect(table({ ...about, ...crdColumns(columns) }, named())).toEqual([
      ['Name', 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta.name'],
      ['Said', 'In words.'],
      ['Silent', 'Custom resource definition column (in JSONPath format): .spec.b'],
    ]);
    expect(table({ ...about, ...crdColumns(undefined) }, named())[1]).toEqual([
      'Age',
      'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta.creationTimestamp',
    ]);
  });
});
