import type { KubeObject } from '../../kube/object.ts';
import type { Clock } from '../../runtime/index.ts';
import { jsonText } from '../../schema/json-text.ts';
import type { Representation } from '../request/index.ts';
import type { Resource } from '../resource.ts';
import { tableOf } from '../table/index.ts';
import { partialObject } from './list.ts';
import type { View } from './view.ts';

type EventType = 'ADDED' | 'MODIFIED' | 'DELETED';

/** Lines by event type and representation. All watchers of an event share one buffer, which goes when the event goes. */
const lines = new WeakMap<View, Map<string, Uint8Array>>();

const NEWLINE = Buffer.from('}\n');

/** One line of a watch stream; encoded once for all who watch it in the same representation. */
export function eventLine(type: EventType, view: View, representation: Representation): Uint8Array {
  const form = representation.as === undefined ? 'full' : (representation.metaVersion ?? 'v1');
  const key = `${type} ${form}`;
  let known = lines.get(view);
  if (!known) {
    known = new Map();
    lines.set(view, known);
  }
  let line = known.get(key);
  if (!line) {
    const object =
      form === 'full'
        ? view.bytes
        : Buffer.from(jsonText(partialObject(view.object, form === 'v1' ? 'v1' : 'v1beta1')));
    line = Buffer.concat([Buffer.from(`{"type":"${type}","object":`), object, NEWLINE]);
    known.set(key, line);
  }
  return line;
}

export type RowWriter = (type: EventType, object: KubeObject) => Uint8Array;

/** Lines of tables with one row. Only the first tells the columns. They hold ages, so nothing is shared. */
export function rowWriter(
  resource: Resource,
  clock: Clock,
  includeObject: 'None' | 'Metadata' | 'Object',
  representation: Representation,
): RowWriter {
  let first = true;
  return (type, object) => {
    const table = tableOf(resource, [object], {
      now: clock.now(),
      includeObject,
      version: representation.metaVersion ?? 'v1',
      metadata: { resourceVersion: object.metadata.resourceVersion ?? '' },
      columns: first,
    });
    first = false;
    return Buffer.from(`${jsonText({ type, object: table })}\n`);
  };
}
