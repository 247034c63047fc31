/**
 * ResourceQuota: how much a namespace may have. The ledger counts what is there and what is being written; admission charges
 * writes against it at the moment they are decided on, so two of them never take the same last slot; `status` follows.
 */
export { resourceQuota } from './accountant.ts';
export { type QuotaLedger, quotaLedger } from './ledger.ts';
export { startQuotaStatus } from './status.ts';
