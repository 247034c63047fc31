import { stringify } from 'yaml';
import { type KubeObject, refOf, refText } from '../../kube/object.ts';
import { harmless } from '../output.ts';
import type { FederationPlan } from './federate.ts';
import type { DisabledType, EnabledType } from './types.ts';

/** Objects as one YAML stream, or as a List in JSON: what kubectl applies. */
export function manifestsText(objects: readonly KubeObject[], format: 'json' | 'yaml'): string {
  if (format === 'json') {
    const [only] = objects;
    const value = objects.length === 1 && only ? only : { apiVersion: 'v1', kind: 'List', items: objects };
    return `${JSON.stringify(value, null, 2)}\n`;
  }
  return objects
    .map((object) => stringify(object, { lineWidth: 0, aliasDuplicateObjects: false }))
    .join('---\n');
}

export function enabledText(types: readonly EnabledType[], dryRun: boolean): string {
  return types
    .map(({ name, kind, running }) => {
      if (dryRun) return `${name} would be federated as ${kind}\n`;
      return running
        ? `${name} is federated as ${kind}\n`
        : `${name} is enabled; its kind ${kind} comes when the hub runs and has a cluster\n`;
    })
    .join('');
}

export function disabledText({ name, kind, deletedKind }: DisabledType, dryRun: boolean): string {
  const what = deletedKind ? `, and its kind ${kind} deleted` : '';
  return dryRun
    ? `${name} would no longer be federated${what}\n`
    : `${name} is no longer federated${what}. What it brought to clusters stays there\n`;
}

/** What was made, or would be, and what stays out. */
export function federationText({ objects, skipped }: FederationPlan, dryRun: boolean): string {
  const made = objects.map(
    ({ object }) => `${refText(refOf(object))} ${dryRun ? 'would be created' : 'created'}\n`,
  );
  const out = skipped.map(({ ref, reason }) => `${refText(ref)} stays out: ${reason}\n`);
  return harmless([...made, ...out].join(''));
}
