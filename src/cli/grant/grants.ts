import { stringify } from 'yaml';
import {
  ACCESS_GRANT,
  type AccessGrant,
  GRANTABLE,
  type Grantable,
  grantState,
  LONGEST_GRANT_MS,
} from '../../engine/access/index.ts';
import { apiVersionOf, resourceIdOf } from '../../kube/custom-resource.ts';
import { hasCode } from '../../kube/status-error.ts';
import { formatTime } from '../../runtime/clock.ts';
import { nameSuffix, systemRandom } from '../../runtime/index.ts';
import { humanDuration } from '../../schema/human-duration.ts';
import type { LabelSelector } from '../../schema/label-selector.ts';
import { parseLabelSelector, type Selector } from '../../schema/label-selector.ts';
import { type AskingOptions, ask, cell, type Paint, table } from '../output.ts';
import { selfAt } from '../self.ts';

export interface NewGrantOptions extends AskingOptions {
  readonly user?: string;
  readonly group?: string;
  readonly clusters: string;
  readonly namespace?: string;
  readonly reason: string;
  readonly for: string;
  readonly approve: boolean;
  readonly name?: string;
}

const RESOURCE = resourceIdOf(ACCESS_GRANT);

/** `atoll grant create`: asks for a grant; with `approve`, gives it. */
export function createGrant(what: readonly string[], options: NewGrantOptions): Promise<void> {
  return ask(options, async ({ hub, now, print }) => {
    const forMs = durationMs(options.for);
    if (forMs === undefined || forMs > LONGEST_GRANT_MS)
      throw new Error(`--for ${options.for}: a grant lasts from 1m to 8h, such as 30m or 2h`);
    const { username: self } = await selfAt(hub.client);
    if (options.user !== undefined && options.group !== undefined)
      throw new Error('give --user or --group, not both');
    const grant: AccessGrant = {
      apiVersion: apiVersionOf(ACCESS_GRANT),
      kind: ACCESS_GRANT.kind,
      metadata: { name: options.name ?? grantName(options) },
      spec: {
        ...(options.group === undefined ? { user: options.user ?? self } : { group: options.group }),
        clusters: clustersOf(options.clusters),
        namespaces: (options.namespace ?? hub.namespace).split(',').filter((name) => name !== ''),
        allow: allowed(what),
        reason: options.reason,
        expiresAt: formatTime(now + forMs),
        requestedBy: self,
        ...(options.approve ? { approvedBy: self } : {}),
      },
    };
    const made = await hub.client.create(RESOURCE, grant, { fieldManager: 'atoll-cli' });
    print(made, (object) => {
      const name = object.metadata.name ?? '';
      return options.approve
        ? `Grant ${name} is live for ${humanDuration(forMs)}. End it with: atoll grant revoke ${name}\n`
        : `Grant ${name} waits for approval. Next, by whoever may approve: atoll grant approve ${name}\n`;
    });
    return 0;
  });
}

/** `atoll grant approve`: makes it count. The API server checks that the user may. */
export function approveGrant(name: string, options: AskingOptions): Promise<void> {
  return ask(options, async ({ hub, print }) => {
    const { username: self } = await selfAt(hub.client);
    const approved = await hub.client.patch<AccessGrant>(RESOURCE, '', name, 'merge', {
      spec: { approvedBy: self },
    });
    print(approved, () => `Grant ${name} is approved by ${self}.\n`);
    return 0;
  });
}

/** `atoll grant revoke`: ends it, and the streams that it allowed. */
export function revokeGrant(name: string, options: AskingOptions): Promise<void> {
  return ask(options, async ({ hub, print }) => {
    const gone = await hub.client.delete(RESOURCE, '', name);
    print(gone, () => `Grant ${name} is revoked; streams that it allowed are cut.\n`);
    return 0;
  });
}

export function listGrants(options: AskingOptions): Promise<void> {
  return ask(options, async ({ hub, now, paint, print }) => {
    const { items } = await hub.client.list<AccessGrant>(RESOURCE, '').catch((error: unknown) => {
      if (!hasCode(error, 404)) throw error;
      throw new Error(
        'the hub serves no AccessGrants: it is no hub of Atoll, or its API server has no admission policies',
        { cause: error },
      );
    });
    print(items, (grants) => grantsText(grants, now, paint));
    return 0;
  });
}

function grantsText(grants: readonly AccessGrant[], now: number, paint: Paint): string {
  if (grants.length === 0) return 'No grants.\n';
  const rows = grants.map((grant) => {
    const { spec, status } = grant;
    const { state, until } = grantState(grant, now);
    const style = state === 'Live' ? 'good' : state === 'Pending' ? 'warn' : 'quiet';
    return [
      cell(grant.metadata.name ?? '', 'strong'),
      cell(state, style),
      spec.user ?? `group ${spec.group ?? ''}`,
      spec.allow.join(','),
      clustersText(spec.clusters),
      spec.namespaces.join(','),
      until === undefined ? '-' : humanDuration(Math.max(0, until - now)),
      spec.approvedBy ?? '-',
      String(status?.uses ?? 0),
      spec.reason,
    ];
  });
  const head = [
    'NAME',
    'STATE',
    'WHO',
    'WHAT',
    'CLUSTERS',
    'NAMESPACES',
    'LEFT',
    'APPROVED BY',
    'USES',
    'REASON',
  ];
  return table(head, rows, paint);
}

function clustersText({ names = [], selector }: AccessGrant['spec']['clusters']): string {
  return [
    ...names,
    ...(selector === undefined
      ? []
      : [stringify(selector, { collectionStyle: 'flow', lineWidth: 0 }).trim()]),
  ].join(',');
}

function allowed(what: readonly string[]): Grantable[] {
  return [...new Set(what.flatMap((word) => word.split(',')))].map((word) => {
    const found = GRANTABLE.find((name) => name === word);
    if (found === undefined)
      throw new Error(`${JSON.stringify(word)} cannot be granted; ${GRANTABLE.join(', ')} can`);
    return found;
  });
}

function clustersOf(text: string): AccessGrant['spec']['clusters'] {
  if (!/[=!()]|\sin\s|\snotin\s/.test(text)) return { names: text.split(',').filter((name) => name !== '') };
  const selector = parseLabelSelector(text);
  if ('error' in selector) throw new Error(`--clusters: ${selector.error}`);
  return { selector: selectorObject(selector) };
}

const OPERATORS: Readonly<Record<string, string>> = {
  in: 'In',
  notin: 'NotIn',
  '!=': 'NotIn',
  exists: 'Exists',
  '!': 'DoesNotExist',
};

function selectorObject({ requirements }: Selector): LabelSelector {
  const equal = requirements.filter(({ operator }) => operator === '=');
  const others = requirements.filter(({ operator }) => operator !== '=');
  return {
    ...(equal.length === 0
      ? {}
      : { matchLabels: Object.fromEntries(equal.map(({ key, values }) => [key, values[0] ?? ''])) }),
    ...(others.length === 0
      ? {}
      : {
          matchExpressions: others.map(({ key, operator, values }) => {
            const word = OPERATORS[operator];
            if (word === undefined) throw new Error(`--clusters: a grant cannot select by ${operator}`);
            return { key, operator: word, ...(values.length === 0 ? {} : { values: [...values] }) };
          }),
        }),
  };
}

function grantName({ user, group }: NewGrantOptions): string {
  const who = (user ?? group ?? 'access')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
  return `${who.slice(0, 40) || 'access'}-${nameSuffix(systemRandom())}`;
}

/** `90m`, `2h`, `1h30m`. */
function durationMs(text: string): number | undefined {
  const match = /^(?:(\d{1,2})h)?(?:(\d{1,3})m)?$/.exec(text);
  if (!match || text === '') return undefined;
  const ms = Number(match[1] ?? 0) * 3_600_000 + Number(match[2] ?? 0) * 60_000;
  return ms > 0 ? ms : undefined;
}
