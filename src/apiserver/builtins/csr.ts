import type { KubeObject } from '../../kube/object.ts';
import { certificateIdentity, PkiError } from '../../kube/pki.ts';
import { formatTime } from '../../runtime/index.ts';
import { clone, isObject, type JsonObject, listAt, objectAt } from '../../schema/json.ts';
import {
  validateDns1123Label,
  validateDns1123Subdomain,
  validatePathSegmentName,
} from '../../schema/names.ts';
import type { Strategy, StrategyContext } from '../resource.ts';
import { fieldSet, initialStatus, keepField, keepSpec, strategy } from './base-strategy.ts';
import type { Problems } from './field-checks.ts';
import { duplicate, forbidden, invalidAs, invalidValue, notSupported, required } from './field-errors.ts';
import { assign, ensureObject, integer, isSet, strings, text } from './fields.ts';

const LEAST_SECONDS = 600;
const LEGACY_SIGNER = 'kubernetes.io/legacy-unknown';
const SIGNER_LIMIT = 571;
const PEM = /^\s*-----BEGIN ([A-Z0-9 ]+)-----\r?\n(?:[A-Za-z0-9+/=\r\n]*)-----END \1-----\s*$/;

/** The uses of a key that a certificate may be asked for. */
const KEY_USAGES: readonly string[] = [
  'any',
  'cert sign',
  'client auth',
  'code signing',
  'content commitment',
  'crl sign',
  'data encipherment',
  'decipher only',
  'digital signature',
  'email protection',
  'encipher only',
  'ipsec end system',
  'ipsec tunnel',
  'ipsec user',
  'key agreement',
  'key encipherment',
  'microsoft sgc',
  'netscape sgc',
  'ocsp signing',
  's/mime',
  'server auth',
  'signing',
  'timestamping',
];

export const csrStrategy: Strategy = strategy({
  // Nodes name theirs after themselves.
  validateName: validatePathSegmentName,
  resetFields: {
    main: fieldSet(['spec', 'status']),
    status: fieldSet(['spec', 'status.conditions']),
    approval: fieldSet(['spec']),
  },
  fieldLabelNames: ['spec.signerName'],
  fieldLabels: (csr) => ({ 'spec.signerName': text(objectAt(csr, 'spec'), 'signerName') }),
  // Who asks is what the server knows, never what the request says.
  prepareForCreate(csr, context) {
    const spec = ensureObject(csr, 'spec');
    for (const key of ['username', 'uid', 'groups', 'extra']) delete spec[key];
    if (context.user !== '') spec.username = context.user;
    if (context.uid) spec.uid = context.uid;
    if (context.groups && context.groups.length > 0) spec.groups = [...context.groups];
    if (context.extra && Object.keys(context.extra).length > 0) {
      const extra: JsonObject = {};
      for (const key in context.extra) extra[key] = [...(context.extra[key] ?? [])];
      spec.extra = extra;
    }
    initialStatus({})(csr);
  },
  prepareForUpdate: (csr, old) => keepField(csr, old, 'spec'),
  // What is decided stays decided: whoever signs adds a certificate, or that there will be none.
  prepareForStatusUpdate(csr, old, context) {
    keepSpec(csr, old);
    const conditions = conditionsOf(csr);
    // Decisions are for others to change; to add or drop one is refused below.
    const kept = conditions.map((condition) => {
      const same = (of: JsonObject[]): JsonObject[] => of.filter(({ type }) => type === condition.type);
      const [before, ...more] = same(conditionsOf(old));
      return isDecision(condition) && before && more.length === 0 && same(conditions).length === 1
        ? before
        : condition;
    });
    setConditions(csr, kept, old, context);
  },
  prepareForSubresource(subresource, csr, old, context) {
    if (subresource !== 'approval') return;
    keepSpec(csr, old);
    const conditions = conditionsOf(csr);
    assign(csr, 'status', clone(objectAt(old, 'status') ?? {}));
    setConditions(csr, conditions, old, context);
  },
  validate,
  validateUpdate: (csr, old) => statusProblems(csr, old),
  validateStatusUpdate: (csr, old) => statusProblems(csr, old, DECISIONS),
});

/** Conditions that are never taken back, and whether one kind of request may still get them. */
const DECISIONS: readonly string[] = ['Approved', 'Denied'];
const FINAL: readonly string[] = [...DECISIONS, 'Failed'];

function conditionsOf(csr: KubeObject): JsonObject[] {
  return listAt(csr, 'status', 'conditions').filter(isObject);
}

function isDecision(condition: JsonObject): boolean {
  return DECISIONS.includes(text(condition, 'type'));
}

/** Conditions with the times that whoever wrote them left out. A time of transition stays while the status does. */
function setConditions(
  csr: KubeObject,
  conditions: readonly JsonObject[],
  old: KubeObject,
  context: StrategyContext,
): void {
  const status = ensureObject(csr, 'status');
  if (conditions.length === 0) {
    delete status.conditions;
    return;
  }
  const now = formatTime(context.now);
  status.conditions = conditions.map((given) => {
    const before = conditionsOf(old).find((item) => item.type === given.type && item.status === given.status);
    const condition = clone(given);
    if (!isSet(condition.lastUpdateTime)) condition.lastUpdateTime = now;
    if (!isSet(condition.lastTransitionTime))
      condition.lastTransitionTime = before?.lastTransitionTime ?? now;
    return condition;
  });
}

/** Conditions that no update removes, and those that this one does not add. */
function statusProblems(csr: KubeObject, old: KubeObject, fixed: readonly string[] = []): Problems {
  const problems: Problems = [];
  const had = new Set(conditionsOf(old).map((condition) => text(condition, 'type')));
  const conditions = conditionsOf(csr);
  const has = new Set(conditions.map((condition) => text(condition, 'type')));
  const seen = new Set<string>();
  for (const [index, condition] of conditions.entries())
    problems.push(...conditionProblems(condition, `status.conditions[${index}]`, seen));
  const path = 'status.conditions';
  for (const type of FINAL) {
    const quoted = JSON.stringify(type);
    if (had.has(type) && !has.has(type))
      problems.push(forbidden(path, `updates may not remove a condition of type ${quoted}`));
    if (fixed.includes(type) && !had.has(type) && has.has(type))
      problems.push(forbidden(path, `updates may not add a condition of type ${quoted}`));
  }
  problems.push(...certificateProblems(csr, old));
  return problems;
}

function conditionProblems(condition: JsonObject, path: string, seen: Set<string>): Problems {
  const type = text(condition, 'type');
  const status = text(condition, 'status');
  const problems: Problems = [];
  if (type === '') problems.push(required(`${path}.type`));
  const allowed = FINAL.includes(type) ? ['True'] : ['False', 'True', 'Unknown'];
  if (status === '') problems.push(required(`${path}.status`));
  else if (!allowed.includes(status)) problems.push(notSupported(`${path}.status`, status, allowed));
  const other = DECISIONS.find((decision) => decision !== type);
  if (DECISIONS.includes(type) && other !== undefined && seen.has(other))
    problems.push(
      invalidValue(`${path}.type`, type, 'Approved and Denied conditions are mutually exclusive'),
    );
  if (seen.has(type)) problems.push(duplicate(`${path}.type`, type));
  seen.add(type);
  return problems;
}

/** A certificate is issued once, and only certificates can be. */
function certificateProblems(csr: KubeObject, old: KubeObject): Problems {
  const certificate = text(objectAt(csr, 'status'), 'certificate');
  const before = text(objectAt(old, 'status'), 'certificate');
  if (certificate === before) return [];
  const path = 'status.certificate';
  const changed =
    before === '' ? [] : [forbidden(path, 'updates may not modify existing certificate content')];
  if (certificate === '') return changed;
  const invalid = (why: string): Problems => [invalidAs(path, '"<certificate data>"', why), ...changed];
  const blocks = Buffer.from(certificate, 'base64')
    .toString('latin1')
    .match(/-----BEGIN [^-]+-----[A-Za-z0-9+/=\s]*-----END [^-]+-----/g);
  if (!blocks) return invalid('must contain at least one CERTIFICATE PEM block');
  if (!blocks.every((block) => block.startsWith('-----BEGIN CERTIFICATE-----')))
    return invalid('only CERTIFICATE PEM blocks are allowed');
  try {
    for (const block of blocks) certificateIdentity(block);
    return changed;
  } catch (error) {
    if (!(error instanceof PkiError)) throw error;
    return invalid('x509: malformed certificate');
  }
}

function validate(csr: KubeObject): Problems {
  const spec = objectAt(csr, 'spec') ?? {};
  const problems = requestProblems(text(spec, 'request'), isSet(spec.request));
  const usages = strings(spec, 'usages');
  if (usages.length === 0) problems.push(required('spec.usages'));
  const seen = new Set<string>();
  for (const [index, usage] of usages.entries()) {
    const at = `spec.usages[${index}]`;
    if (!KEY_USAGES.includes(usage)) problems.push(notSupported(at, usage, KEY_USAGES));
    else if (seen.has(usage)) problems.push(duplicate(at, usage));
    seen.add(usage);
  }
  const signer = text(spec, 'signerName');
  if (signer === LEGACY_SIGNER) {
    problems.push(
      invalidValue('spec.signerName', signer, 'the legacy signerName is not allowed via this API version'),
    );
  } else problems.push(...signerProblems(signer, 'spec.signerName'));
  const seconds = integer(spec, 'expirationSeconds');
  if (seconds !== undefined && seconds < LEAST_SECONDS) {
    problems.push(
      invalidValue(
        'spec.expirationSeconds',
        seconds,
        `may not specify a duration less than ${LEAST_SECONDS} seconds (10 minutes)`,
      ),
    );
  }
  return problems;
}

/** The outside only; whoever signs reads what is inside. */
function requestProblems(request: string, isGiven: boolean): Problems {
  const bytes = Buffer.from(request, 'base64');
  const match = PEM.exec(bytes.toString('latin1'));
  if (match?.[1] === 'CERTIFICATE REQUEST') return [];
  if (bytes.length === 0)
    return [
      invalidAs(
        'spec.request',
        isGiven ? '[]byte{}' : '[]byte(nil)',
        'PEM block type must be CERTIFICATE REQUEST',
      ),
    ];
  const list = [...bytes.subarray(0, 64)].map((byte) => `0x${byte.toString(16)}`).join(', ');
  return [invalidAs('spec.request', `[]byte{${list}}`, 'PEM block type must be CERTIFICATE REQUEST')];
}

/** A signer's name: `example.com/name`. */
function signerProblems(signer: string, path: string): Problems {
  if (signer === '') return [required(path)];
  const [domain = '', name, ...rest] = signer.split('/');
  if (name === undefined || rest.length > 0) {
    return [
      invalidValue(
        path,
        signer,
        "must be a fully qualified domain and path of the form 'example.com/signer-name'",
      ),
    ];
  }
  const problems: Problems = [];
  // Of several labels that are wrong the first is told.
  const told = (part: string, check: (label: string) => string[]): void => {
    const wrong = part.split('.').find((label) => check(label).length > 0);
    if (wrong === undefined) return;
    for (const message of check(wrong))
      problems.push(invalidValue(path, part, `validating label ${JSON.stringify(wrong)}: ${message}`));
  };
  told(domain, validateDns1123Label);
  if (!domain.includes('.'))
    problems.push(
      invalidValue(path, domain, 'should be a domain with at least two segments separated by dots'),
    );
  told(name, validateDns1123Subdomain);
  if (signer.length > SIGNER_LIMIT) {
    problems.push({ type: 'TooLong', path, detail: `may not be more than ${SIGNER_LIMIT} bytes` });
  }
  return problems;
}
