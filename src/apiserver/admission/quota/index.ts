/**
 * ResourceQuota: how much a namespace may have. The ledger counts what is there and what is being written; admission charges
 * writes against it at the moment they are decided on, so two of them never take the same last slot; `status` follows. Without
 * controllers the status is all that is gone by.
 */
export { resourceQuota } from './accountant.ts';
export { type QuotaLedger, quotaLedger } from './ledger.ts';
export { statedQuota } from './stated-usage.ts';
export { startQuotaStatus } from './status.ts';
