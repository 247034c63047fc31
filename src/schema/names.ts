import type { FieldIssue } from './field-issue.ts';

/** All functions here give Kubernetes' texts of what is wrong with a name; an empty list means that nothing is. */

const LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const LABEL_SYNTAX = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/;
const LABEL_1035_SYNTAX = /^[a-z](?:[-a-z0-9]*[a-z0-9])?$/;
const NAME_SYNTAX = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const NAME = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';

const MAX_LABEL = 63;
const MAX_SUBDOMAIN = 253;
const MAX_ANNOTATIONS_BYTES = 256 * 1024;

function syntaxMessage(rule: string, syntax: string, ...examples: string[]): string {
  const list = examples.map((example) => `'${example}', `).join(' or ');
  return `${rule} (e.g. ${list}regex used for validation is '${syntax}')`;
}

function tooLong(max: number): string {
  return `must be no more than ${max} characters`;
}

const EMPTY_NAME = 'must be non-empty';

export function validateDns1123Label(value: string): string[] {
  const problems = value.length > MAX_LABEL ? [tooLong(MAX_LABEL)] : [];
  // Long texts are not worth matching; only their length is reported.
  if (value.length <= MAX_SUBDOMAIN && !LABEL_SYNTAX.test(value)) {
    if (isSubdomain(value)) return [...problems, 'must not contain dots'];
    problems.push(
      syntaxMessage(
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
        LABEL,
        'my-name',
        '123-abc',
      ),
    );
  }
  return problems;
}

export function isDns1123Label(value: string): boolean {
  return value.length <= MAX_LABEL && LABEL_SYNTAX.test(value);
}

export function validateDns1123Subdomain(value: string): string[] {
  if (value.length > MAX_SUBDOMAIN) return [tooLong(MAX_SUBDOMAIN)];
  if (isSubdomain(value)) return [];
  return [
    syntaxMessage(
      "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
      `${LABEL}(\\.${LABEL})*`,
      'example.com',
    ),
  ];
}

export function isDns1123Subdomain(value: string): boolean {
  return value.length <= MAX_SUBDOMAIN && isSubdomain(value);
}

/** Label by label, which unlike one expression for all cannot backtrack. */
function isSubdomain(value: string): boolean {
  return value.split('.').every((label) => LABEL_SYNTAX.test(label));
}

export function validateWildcardDns1123Subdomain(value: string): string[] {
  if (value.startsWith('*.') && isDns1123Subdomain(value.slice(2))) return [];
  return [
    syntaxMessage(
      "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
      `\\*\\.${LABEL}(\\.${LABEL})*`,
      '*.example.com',
    ),
  ];
}

export function validateDns1035Label(value: string): string[] {
  const problems = value.length > MAX_LABEL ? [tooLong(MAX_LABEL)] : [];
  if (value.length <= MAX_SUBDOMAIN && !LABEL_1035_SYNTAX.test(value)) {
    problems.push(
      syntaxMessage(
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
        '[a-z]([-a-z0-9]*[a-z0-9])?',
        'my-name',
        'abc-123',
      ),
    );
  }
  return problems;
}

/** `name` or `prefix.example.com/name`: keys of labels, annotations, finalizers, conditions. */
export function validateQualifiedName(value: string): string[] {
  const parts = value.split('/');
  const name = parts.at(-1) ?? '';
  if (parts.length > 2) {
    return [
      `a qualified name ${syntaxMessage(
        "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
        NAME,
        'MyName',
        'my.name',
        '123-abc',
      )} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  const problems: string[] = [];
  if (parts.length === 2) {
    const prefix = parts[0] ?? '';
    if (prefix === '') problems.push(`prefix part ${EMPTY_NAME}`);
    else problems.push(...validateDns1123Subdomain(prefix).map((problem) => `prefix part ${problem}`));
  }
  if (name === '') problems.push(`name part ${EMPTY_NAME}`);
  if (name.length > MAX_LABEL) problems.push(`name part ${tooLong(MAX_LABEL)}`);
  if (name.length <= MAX_SUBDOMAIN && !NAME_SYNTAX.test(name)) {
    problems.push(
      `name part ${syntaxMessage(
        "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
        NAME,
        'MyName',
        'my.name',
        '123-abc',
      )}`,
    );
  }
  return problems;
}

export function validateLabelKey(value: string): string[] {
  return validateQualifiedName(value);
}

export function validateLabelValue(value: string): string[] {
  const problems = value.length > MAX_LABEL ? [tooLong(MAX_LABEL)] : [];
  if (value !== '' && value.length <= MAX_SUBDOMAIN && !NAME_SYNTAX.test(value)) {
    problems.push(
      syntaxMessage(
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
        `(${NAME})?`,
        'MyValue',
        'my_value',
        '12345',
      ),
    );
  }
  return problems;
}

/** Names that only need to fit into one segment of a URL, such as those of RBAC. */
export function validatePathSegmentName(value: string): string[] {
  if (value === '.' || value === '..') return [`may not be '${value}'`];
  return ['/', '%'].filter((char) => value.includes(char)).map((char) => `may not contain '${char}'`);
}

/** Keys of ConfigMaps and Secrets. */
export function validateConfigMapKey(value: string): string[] {
  if (value.length > MAX_SUBDOMAIN) return [tooLong(MAX_SUBDOMAIN)];
  if (!/^[-._a-zA-Z0-9]+$/.test(value)) {
    return [
      syntaxMessage(
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
        '[-._a-zA-Z0-9]+',
        'key.name',
        'KEY_NAME',
        'key-name',
      ),
    ];
  }
  if (value === '.' || value.startsWith('..')) {
    return [value === '.' || value === '..' ? `must not be '${value}'` : "must not start with '..'"];
  }
  return [];
}

export function validateLabels(labels: Readonly<Record<string, string>>, path: string): FieldIssue[] {
  const issues: FieldIssue[] = [];
  for (const [key, value] of Object.entries(labels)) {
    for (const detail of validateLabelKey(key)) issues.push({ type: 'Invalid', path, value: key, detail });
    for (const detail of validateLabelValue(value)) issues.push({ type: 'Invalid', path, value, detail });
  }
  return issues;
}

export function validateAnnotations(
  annotations: Readonly<Record<string, string>>,
  path: string,
): FieldIssue[] {
  const issues: FieldIssue[] = [];
  let bytes = 0;
  for (const [key, value] of Object.entries(annotations)) {
    // Upper case has always been accepted in the prefix of annotation keys.
    for (const detail of validateQualifiedName(key.toLowerCase())) {
      issues.push({ type: 'Invalid', path, value: key, detail });
    }
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (bytes > MAX_ANNOTATIONS_BYTES) {
    issues.push({
      type: 'TooLong',
      path,
      value: '',
      detail: `may not be more than ${MAX_ANNOTATIONS_BYTES} bytes`,
    });
  }
  return issues;
}
