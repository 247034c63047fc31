import {
  CelError,
  globalOverload,
  INT,
  type Library,
  List,
  listType,
  type Overload,
  typeParam,
  type Value,
} from '../../../cel/index.ts';

const T = typeParam('T');
const LIST = listType(T);

/** `last` is the largest index that fits, counted back from the end of the list. */
function changing(
  name: string,
  withValue: boolean,
  beyondEnd: 0 | 1,
  change: (items: Value[], index: number, value: Value) => void,
): Overload {
  return globalOverload(
    `lists_${name}`,
    withValue ? [LIST, INT, T] : [LIST, INT],
    LIST,
    (list, position, value = null) => {
      const items = (list as List).toArray();
      const index = Number(position);
      const end = items.length + beyondEnd;
      if (index < 0 || index >= end)
        return new CelError(`lists.${name}: index ${index} is outside of a list of ${items.length}`);
      change(items, index, value);
      return new List(items);
    },
    { cost: ([list]) => 1 + (list as List).size },
  );
}

/** Copies of lists with one change. An index that is not there is an error. */
export const listLibrary: Library = {
  name: 'lists-by-index',
  functions: [
    {
      name: 'lists.setAtIndex',
      overloads: [
        changing('setAtIndex', true, 0, (items, index, value) => {
          items[index] = value;
        }),
      ],
    },
    {
      name: 'lists.insertAtIndex',
      overloads: [
        changing('insertAtIndex', true, 1, (items, index, value) => {
          items.splice(index, 0, value);
        }),
      ],
    },
    {
      name: 'lists.removeAtIndex',
      overloads: [
        changing('removeAtIndex', false, 0, (items, index) => {
          items.splice(index, 1);
        }),
      ],
    },
  ],
};
