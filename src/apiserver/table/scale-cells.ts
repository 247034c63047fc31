import type { Column, Resource } from '../resource.ts';
import { age, countAt, nameOf } from './cell-text.ts';

/** Name, Desired, Available and Age of a custom resource's Scale: columns as a definition would have them. */
const CUSTOM_COLUMNS: readonly Column[] = [
  column('Name', 'string', '', 'name'),
  column('Desired', 'integer', 'How many are wanted.'),
  column('Available', 'integer', 'How many there are.'),
  column('Age', 'date'),
];

/** The table of a Scale of a resource. */
export function scaleTableOf({ custom }: Pick<Resource, 'custom'>): typeof scaleTable {
  return custom ? { ...scaleTable, columns: CUSTOM_COLUMNS } : scaleTable;
}

function column(name: string, type: string, description = '', format = ''): Column {
  return { name, type, format, description, priority: 0 };
}

/** The table of a Scale, whatever resource it belongs to. */
const scaleTable: Pick<Resource, 'columns' | 'cells' | 'hasPrinter'> = {
  columns: [
    column('Name', 'string'),
    column('Desired', 'integer', 'How many are wanted.'),
    column('Available', 'integer', 'How many there are.'),
    column('Age', 'string'),
  ],
  cells: (scale, now) => [
    nameOf(scale),
    countAt(scale, 'spec', 'replicas'),
    countAt(scale, 'status', 'replicas'),
    age(scale, now),
  ],
  hasPrinter: true,
};
