import { builtDescriptions, type Descriptions } from '../catalogue/index.ts';
import type { Column } from '../resource.ts';
import { ANY_KIND, COLUMN_SOURCES } from './column-sources.ts';

/** What a column is described as where it has no words of its own. `resource` is `group/resource`. */
export type DescribeColumn = (resource: string, column: Column) => string;

/**
 * Describes columns by the fields that they show. The descriptions are read for the first column and let go; what stays is
 * the few texts that columns use.
 */
export function columnDescriptions(descriptions: Descriptions): DescribeColumn {
  let texts: ReadonlyMap<string, string> | undefined;
  return (resource, { name, description }) => {
    if (description !== '') return description;
    const source = COLUMN_SOURCES[resource]?.[name] ?? ANY_KIND[name] ?? '';
    if (source === '' || source.includes(' ')) return source;
    texts ??= textsOfColumns(descriptions);
    return texts.get(source) ?? '';
  };
}

function textsOfColumns(descriptions: Descriptions): Map<string, string> {
  const describe = descriptions.open();
  const texts = new Map<string, string>();
  for (const sources of [ANY_KIND, ...Object.values(COLUMN_SOURCES)])
    for (const source of Object.values(sources)) {
      if (source === '' || source.includes(' ')) continue;
      const dot = source.lastIndexOf('.');
      texts.set(source, describe(definitionName(source.slice(0, dot)))?.field(source.slice(dot + 1)) ?? '');
    }
  return texts;
}

function definitionName(type: string): string {
  return `io.k8s.${type.startsWith('meta.') ? 'apimachinery.pkg.apis' : 'api'}.${type}`;
}

/** By the descriptions of this build. */
export const describeColumn: DescribeColumn = columnDescriptions(builtDescriptions);
