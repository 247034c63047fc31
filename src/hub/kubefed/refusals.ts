import type { Request } from '../../kube/exchange.ts';
import type { Clock, Timer } from '../../runtime/clock.ts';

/** What is not refused again within this time is of no interest to whoever tried it: it may not be tried any more. */
const FORGOTTEN_MS = 600_000;

/** What somebody may not do, learned from the answers to their requests. */
export interface Refusals {
  note(request: Request, status: number): void;
  /** As `list federatedconfigmaps.types.kubefed.io`, sorted; of one resource, `plural.group`, where it is given. */
  list(resource?: string): readonly string[];
  clear(): void;
  stop(): void;
}

interface Refused {
  readonly resource: string;
  at: number;
}

export function createRefusals(clock: Clock, onChange: () => void): Refusals {
  const refused = new Map<string, Refused>();
  let timer: Timer | undefined;

  function forget(): void {
    timer = undefined;
    const before = refused.size;
    for (const [text, { at }] of refused) if (clock.monotonic() - at >= FORGOTTEN_MS) refused.delete(text);
    schedule();
    if (refused.size !== before) onChange();
  }

  function schedule(): void {
    if (refused.size > 0) timer ??= clock.after(FORGOTTEN_MS, forget);
  }

  return {
    note(request, status): void {
      // Almost everything is allowed, and nothing of it was refused before.
      if (status !== 403 && refused.size === 0) return;
      const asked = askedIn(request);
      if (!asked) return;
      if (status !== 403) {
        if (status < 500 && refused.delete(asked.text)) onChange();
        return;
      }
      const known = refused.get(asked.text);
      if (known) known.at = clock.monotonic();
      else {
        refused.set(asked.text, { resource: asked.resource, at: clock.monotonic() });
        schedule();
        onChange();
      }
    },
    list: (resource) =>
      [...refused]
        .filter(([, item]) => resource === undefined || item.resource === resource)
        .map(([text]) => text)
        .sort(),
    clear: () => refused.clear(),
    stop(): void {
      timer?.cancel();
      timer = undefined;
      refused.clear();
    },
  };
}

/** Verb and resource as RBAC names them; undefined for what is no request for objects. */
function askedIn({
  method,
  path,
}: Request): { readonly text: string; readonly resource: string } | undefined {
  const [where = '', query = ''] = path.split('?', 2);
  const [root, ...parts] = where.split('/').filter((part) => part !== '');
  if (root !== 'api' && root !== 'apis') return undefined;
  const group = root === 'apis' ? (parts[0] ?? '') : '';
  const below = parts.slice(root === 'apis' ? 2 : 1);
  const [plural = '', name, subresource] =
    below[0] === 'namespaces' && below.length > 2 ? below.slice(2) : below;
  if (plural === '') return undefined;
  const resource = group === '' ? plural : `${plural}.${group}`;
  const verb = verbOf(method, name !== undefined, new URLSearchParams(query));
  return { text: `${verb} ${resource}${subresource === undefined ? '' : `/${subresource}`}`, resource };
}

function verbOf(method: string, isNamed: boolean, query: URLSearchParams): string {
  if (method === 'GET') {
    if (isNamed) return 'get';
    return ['1', 'true'].includes(query.get('watch') ?? '') ? 'watch' : 'list';
  }
  if (method === 'DELETE') return isNamed ? 'delete' : 'deletecollection';
  return { POST: 'create', PUT: 'update', PATCH: 'patch' }[method] ?? method.toLowerCase();
}
