import { createEnvironment, DYN, schemaType } from '../../../cel/index.ts';
import { isObject, stringAt } from '../../../schema/json.ts';
import { isDns1123Subdomain, validateLabels } from '../../../schema/names.ts';
import type { OpenApiSchema } from '../../../schema/open-api-schema.ts';
import { validateStructural } from '../../../schema/structural.ts';
import type { GraphSchema } from '../definition.ts';
import { expressionIssues, type GraphIssue } from '../issue.ts';

const KIND = /^[A-Z][a-zA-Z0-9]{0,62}$/;
const VERSION = /^v[0-9]+((alpha|beta)[0-9]+)?$/;
const SHORT_NAME = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;
const MAX_NAMES = 32;

/** Names, group, version, columns: all of a schema but its fields. */
export function checkGraphSchema(schema: GraphSchema, issues: GraphIssue[]): void {
  const report = (at: string, message: string, expected: string): void => {
    issues.push({ path: `schema.${at}`, message, expected });
  };
  if (!KIND.test(schema.kind))
    report('kind', `found "${schema.kind}"`, 'letters and digits in UpperCamelCase, at most 63');
  if (!VERSION.test(schema.apiVersion))
    report(
      'apiVersion',
      `found "${schema.apiVersion}"`,
      'a version alone, such as v1alpha1; the group is a field of its own',
    );
  if (schema.group !== undefined && !isDns1123Subdomain(schema.group))
    report('group', `found "${schema.group}"`, 'a DNS name such as example.com');
  for (const field of ['shortNames', 'categories'] as const) {
    const names = schema[field] ?? [];
    if (names.length > MAX_NAMES) report(field, `there are ${names.length}`, `at most ${MAX_NAMES}`);
    for (const [index, name] of names.entries())
      if (!SHORT_NAME.test(name) || name.length > 63)
        report(`${field}[${index}]`, `found "${name}"`, 'lower-case letters, digits and dashes, at most 63');
  }
  for (const [index, column] of (schema.additionalPrinterColumns ?? []).entries())
    for (const field of ['name', 'type', 'jsonPath'])
      if ((stringAt(column, field) ?? '') === '')
        report(`additionalPrinterColumns[${index}].${field}`, 'it is missing', 'a text');
  const { scale } = schema.subresources ?? {};
  if (scale) {
    const path = (at: keyof typeof scale, below: string): void => {
      const found = scale[at];
      if (found === undefined ? at !== 'labelSelectorPath' : !found.startsWith(below))
        report(
          `subresources.scale.${at}`,
          found === undefined ? 'it is missing' : `found "${found}"`,
          `a path below ${below}`,
        );
    };
    path('specReplicasPath', '.spec.');
    path('statusReplicasPath', '.status.');
    path('labelSelectorPath', '.');
  }
  for (const problem of validateLabels(schema.metadata?.labels ?? {}, 'schema.metadata.labels'))
    issues.push({ path: problem.path, message: problem.detail });
}

/** What an API server would refuse of the fields: defaults that do not fit, rules that do not compile. */
export function checkFields(spec: OpenApiSchema, issues: GraphIssue[]): void {
  const root: OpenApiSchema = { type: 'object', properties: { spec } };
  for (const issue of validateStructural(root))
    issues.push({
      path: `schema.${issue.path.replace(/properties\[([^\]]*)\]/g, '$1')}`,
      message: issue.detail === '' ? issue.type : issue.detail,
    });
  checkRules(spec, 'schema.spec', issues);
}

function checkRules(schema: OpenApiSchema, path: string, issues: GraphIssue[]): void {
  const rules = (schema['x-kubernetes-validations'] ?? []).flatMap((rule) => stringAt(rule, 'rule') ?? []);
  if (rules.length > 0) {
    const self = schemaType({ schema, resolve: () => undefined }, { name: path }) ?? DYN;
    const environment = createEnvironment({ variables: { self, oldSelf: self } });
    for (const rule of rules) {
      const { program, issues: problems } = environment.compile(rule);
      if (!program) issues.push(...expressionIssues({ path }, rule, problems));
    }
  }
  for (const [name, property] of Object.entries(schema.properties ?? {}))
    checkRules(property, `${path}.${name}`, issues);
  if (isObject(schema.items)) checkRules(schema.items, `${path}[]`, issues);
  if (typeof schema.additionalProperties === 'object')
    checkRules(schema.additionalProperties, `${path}.*`, issues);
}
