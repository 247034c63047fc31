import { formatApiVersion, type GroupVersionKind, type ObjectRef, refText } from '../../../kube/object.ts';

/** Why a node is not what it shall be. */
export type Reason =
  /** It comes after a node that is not ready. */
  | { readonly kind: 'Dependency'; readonly node: string }
  /** An expression looks at something that is not there yet. */
  | { readonly kind: 'Value'; readonly path: string; readonly expression: string; readonly message: string }
  /** The kind that an expression came to is not served. */
  | { readonly kind: 'Unserved'; readonly of: GroupVersionKind }
  /** The object was not looked at yet. */
  | { readonly kind: 'Unread'; readonly what: string }
  /** The object is about to be written. */
  | { readonly kind: 'Apply'; readonly ref: ObjectRef }
  /** `readyWhen` is not true yet. */
  | {
      readonly kind: 'NotReady';
      readonly ref: ObjectRef;
      readonly expression: string;
      readonly message?: string;
    }
  /** `propagateWhen` is not true, so a change waits. */
  | { readonly kind: 'Held'; readonly ref: ObjectRef; readonly expression: string; readonly message?: string }
  /** What is external is not there. */
  | { readonly kind: 'Absent'; readonly ref: ObjectRef }
  /** It is on another cluster, and is not (seen to be) as it shall be there. No cluster is named where that is the hub. */
  | {
      readonly kind: 'Remote';
      readonly ref: ObjectRef;
      readonly cluster?: string;
      readonly message: string;
    }
  /** `includeWhen` is false. */
  | { readonly kind: 'Excluded'; readonly expression: string }
  /** A node that it depends on is left out. */
  | { readonly kind: 'ExcludedBy'; readonly node: string }
  /** The object is being deleted. */
  | { readonly kind: 'Deleting'; readonly ref: ObjectRef }
  /** The object belongs to another instance. */
  | { readonly kind: 'Conflict'; readonly ref: ObjectRef; readonly owner: string }
  | {
      readonly kind: 'Failed';
      readonly message: string;
      readonly expression?: string;
      readonly path?: string;
    };

/** A reason in words. */
export function reasonText(reason: Reason): string {
  switch (reason.kind) {
    case 'Dependency':
      return `waits for node ${reason.node}`;
    case 'Value':
      return `waits for a value at ${reason.path}: \${${reason.expression}}: ${reason.message}`;
    case 'Unserved': {
      const { group, version, kind } = reason.of;
      return `the kind ${formatApiVersion(group, version)} ${kind} is not served`;
    }
    case 'Unread':
      return `${reason.what} was not looked at yet`;
    case 'Apply':
      return `${refText(reason.ref)} is about to be applied`;
    case 'NotReady':
      return `${refText(reason.ref)} is not ready: \${${reason.expression}} is ${reason.message ?? 'false'}`;
    case 'Held':
      return `a change of ${refText(reason.ref)} is held back: \${${reason.expression}} is ${reason.message ?? 'false'}`;
    case 'Absent':
      return `${refText(reason.ref)} does not exist`;
    case 'Remote':
      return `${refText(reason.ref)} on ${reason.cluster === undefined ? 'the hub' : `cluster ${reason.cluster}`}: ${reason.message}`;
    case 'Excluded':
      return `left out: \${${reason.expression}} is false`;
    case 'ExcludedBy':
      return `left out with node ${reason.node}`;
    case 'Deleting':
      return `${refText(reason.ref)} is being deleted; it is made again when it is gone`;
    case 'Conflict':
      return `${refText(reason.ref)} belongs to ${reason.owner}; nothing is taken away from another instance`;
    case 'Failed': {
      const at = reason.path === undefined ? '' : ` at ${reason.path}`;
      const expression = reason.expression === undefined ? '' : `\${${reason.expression}}${at}: `;
      return `${expression}${reason.message}`;
    }
  }
}
