import type { KubeObject } from '../../kube/object.ts';
import { notFound } from '../../kube/status-error.ts';
import { jsonText } from '../../schema/json-text.ts';
import type { ListQuery } from '../request/index.ts';
import type { Listing } from './list.ts';
import type { Scope } from './scope.ts';
import { parseSelection } from './selector.ts';
import type { View } from './view.ts';

/** Objects that no store has: they are worked out when they are asked for, and have no revision. */

/** One of them; `undefined` for a resource that is stored. Throws 404. */
export function getComputed(scope: Scope, name: string): View | undefined {
  const objects = scope.server.computed?.(scope);
  if (objects === undefined) return undefined;
  const object = objects.find(({ metadata }) => metadata.name === name);
  if (object === undefined) throw notFound(scope.resource.group, scope.resource.resource, name);
  return viewOfComputed(object);
}

/** Those that a query selects; `undefined` for a resource that is stored. They always come all at once. */
export function listComputed(scope: Scope, query: ListQuery): Listing | undefined {
  const objects = scope.server.computed?.(scope);
  if (objects === undefined) return undefined;
  const { matches } = parseSelection(scope.resource, query.labelSelector, query.fieldSelector);
  const selected = matches ? objects.filter(matches) : objects;
  return { metadata: {}, views: selected.map(viewOfComputed), records: [] };
}

function viewOfComputed(object: KubeObject): View {
  return { object, bytes: Buffer.from(jsonText(object)) };
}
