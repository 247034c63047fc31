import { AWAITING, type DefinitionFindings } from '../../dialects/kro/index.ts';

export const RESOLVED: DefinitionFindings['revisions'] = {
  status: 'True',
  reason: 'Resolved',
  message: 'the newest revision is known',
};
export const VALID: DefinitionFindings['accepted'] = {
  status: 'True',
  reason: 'Valid',
  message: 'the definition is right',
};
export const READY: DefinitionFindings['kind'] = {
  status: 'True',
  reason: 'Ready',
  message: 'the kind is served',
};
export const RUNNING: DefinitionFindings['controller'] = {
  status: 'True',
  reason: 'Running',
  message: 'instances are looked after',
};

export function invalid(message: string): DefinitionFindings['accepted'] {
  return { status: 'False', reason: 'InvalidResourceGraph', message };
}

export function awaiting(message: string): {
  readonly status: 'Unknown';
  readonly reason: typeof AWAITING;
  readonly message: string;
} {
  return { status: 'Unknown', reason: AWAITING, message };
}

export function failed(message: string): DefinitionFindings['kind'] {
  return { status: 'False', reason: 'Failed', message };
}
