/**
 * The audit log: what was asked, by whom, and how it ended, as `audit.k8s.io/v1` Events. A policy says of which requests, at
 * which stages, and how much; bodies that hold credentials are left out whatever it says. Recording costs nothing where nobody
 * listens, and never fails a request.
 */
export {
  type AuditEvent,
  type AuditLevel,
  type AuditSink,
  type AuditStage,
  auditEvent,
} from './audit-event.ts';
export { type AuditDecision, type AuditPolicy, parseAuditPolicy } from './policy.ts';
export { type Audited, type AuditRecord, type AuditTrail, auditTrail } from './trail.ts';
