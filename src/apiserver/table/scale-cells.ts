import type { Column, Resource } from '../resource.ts';
import { age, countAt, nameOf } from './cell-text.ts';

function column(name: string, type: string, description = '', format = ''): Column {
  return { name, type, format, description, priority: 0 };
}

/** The table of a Scale, whatever resource it belongs to. */
export const scaleTable: Pick<Resource, 'columns' | 'cells' | 'hasPrinter'> = {
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
