import type { KubeObject } from '../../kube/object.ts';
import { clone, type JsonObject, objectAt } from '../../schema/json.ts';
import { validateDns1123Subdomain } from '../../schema/names.ts';
import type { Strategy } from '../resource.ts';
import { fieldSet, initialStatus, keepField, keepSpec, strategy } from './base-strategy.ts';
import type { Problems } from './field-checks.ts';
import { duplicate, invalidAs, invalidValue, notSupported, required } from './field-errors.ts';
import { assign, ensureObject, integer, strings, text } from './fields.ts';

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
  resetFields: {
    main: fieldSet(['spec', 'status']),
    status: fieldSet(['spec', 'status.conditions']),
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
  prepareForStatusUpdate(csr, old) {
    keepSpec(csr, old);
    const conditions = objectAt(old, 'status')?.conditions;
    assign(ensureObject(csr, 'status'), 'conditions', clone(conditions));
  },
  validate,
});

function validate(csr: KubeObject): Problems {
  const spec = objectAt(csr, 'spec') ?? {};
  const problems = requestProblems(text(spec, 'request'));
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
function requestProblems(request: string): Problems {
  const bytes = Buffer.from(request, 'base64');
  const match = PEM.exec(bytes.toString('latin1'));
  if (match?.[1] === 'CERTIFICATE REQUEST') return [];
  const list = [...bytes.subarray(0, 64)].map((byte) => `0x${byte.toString(16)}`).join(', ');
  return [invalidAs('spec.request', `[]byte{${list}}`, 'PEM block type must be CERTIFICATE REQUEST')];
}

/** A signer's name: `example.com/name`. */
function signerProblems(signer: string, path: string): Problems {
  if (signer === '') return [required(path)];
  const [domain = '', name, ...rest] = signer.split('/');
  if (name === undefined || rest.length > 0 || !domain.includes('.')) {
    return [
      invalidValue(
        path,
        signer,
        "must be a fully qualified domain and path of the form 'example.com/signer-name'",
      ),
    ];
  }
  const problems: Problems = [];
  for (const part of [domain, name]) {
    for (const message of validateDns1123Subdomain(part)) problems.push(invalidValue(path, signer, message));
  }
  if (signer.length > SIGNER_LIMIT) {
    problems.push({ type: 'TooLong', path, detail: `may not be more than ${SIGNER_LIMIT} bytes` });
  }
  return problems;
}
