import type { Definition } from './definition.ts';

export const APPROVAL = 'api-approved.kubernetes.io';

/** Whether a definition in one of the groups of Kubernetes itself says that it was approved. */
export interface Approval {
  readonly state: 'not needed' | 'missing' | 'unapproved' | 'approved' | 'invalid';
  readonly message: string;
}

export function approvalOf({ spec, metadata }: Definition): Approval {
  if (!/(^|\.)(k8s|kubernetes)\.io$/.test(spec?.group ?? '')) return { state: 'not needed', message: '' };
  const value = metadata.annotations?.[APPROVAL];
  const protects = `protected groups must have approval annotation ${JSON.stringify(APPROVAL)}`;
  if (value === undefined)
    return {
      state: 'missing',
      message: `${protects}, see https://github.com/kubernetes/enhancements/pull/1111`,
    };
  if (value.startsWith('unapproved'))
    return { state: 'unapproved', message: `not approved: ${JSON.stringify(value)}` };
  if (URL.canParse(value)) return { state: 'approved', message: `approved in ${value}` };
  return {
    state: 'invalid',
    message: `${protects} with either a URL or a reason starting with "unapproved"`,
  };
}
