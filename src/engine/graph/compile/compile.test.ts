// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { compiled, definitionIn, someKinds, wrong } from '../graph.fixture.ts';
import { compileGraph, pluralOf } from './index.ts';

const CONFIG = (id: string, more = '', spec = '{}'): string => `
- id: ${id}
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: ${id}}, data: ${spec}}
  ${more}`;

function graph(
  resources: string,
  schema = 'spec: {name: string, count: integer, names: "[]string", flag: boolean}',
): string {
  return `schema: {${schema}}\nresources:${resources === '' ? ' []' : resources}\n`;
}

/** A graph of one ConfigMap with a value. */
function value(text: string): string {
  return graph(CONFIG('a', '', `{v: ${JSON.stringify(text)}}`));
}

describe('names', () => {
  it('[R10] are lowerCamelCase, not reserved and given once', () => {
    for (const id of ['a', 'myApp', 'db2', 'webServer']) expect(wrong(graph(CONFIG(id))), id).toBe('');
    for (const id of ['A', 'my-app', 'my_app', '2db', 'é'])
      expect(wrong(graph(CONFIG(id))), id).toContain('is no name for it; expected lowerCamelCase');
    for (const id of ['schema', 'each', 'self', 'spec', 'metadata', 'resources', 'in', 'for', 'namespace'])
      expect(wrong(graph(CONFIG(id))), id).toContain('is a reserved word');
    expect(wrong(graph(CONFIG('a') + CONFIG('a')))).toBe(
      'resources[1].id (node a): resources[0] is called "a", too; expected another id',
    );
    const each = (variable: string): string =>
      wrong(
        graph(
          `${CONFIG('b')}\n- id: a\n  forEach: [{${variable}: "\${schema.spec.names}"}]\n  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "\${${variable}}"}}`,
        ),
      );
    expect(each('name')).toBe('');
    expect(each('b')).toContain('"b" is a node already');
    expect(each('item')).toContain('is a reserved word');
  });

  it('of the API follow its patterns', () => {
    expect(wrong('schema: {kind: foo, apiVersion: a/v1, group: "-", shortNames: [A]}')).toBe(
      [
        'schema.kind: found "foo"; expected letters and digits in UpperCamelCase, at most 63',
        'schema.apiVersion: found "a/v1"; expected a version alone, such as v1alpha1; the group is a field of its own',
        'schema.group: found "-"; expected a DNS name such as example.com',
        'schema.shortNames[0]: found "A"; expected lower-case letters, digits and dashes, at most 63',
      ].join('\n'),
    );
  });

  it('in plural are those of English', () => {
    const words =
      'webapp policy gateway ingress proxy box batch bus status database person index redisproxy series human analysis';
    expect(words.split(' ').map(pluralOf).join(' ')).toBe(
      'webapps policies gateways ingresses proxies boxes batches buses statuses databases people indices redisproxies series humans analyses',
    );
  });

  it('in plural are what kro calls them, also where English has another word', () => {
    const words =
      'apps settings redis metrics kubernetes lens area lambda software video disk tomato policyindex safe alias axis';
    expect(words.split(' ').map(pluralOf).join(' ')).toBe(
      'apps settings redis metrics kubernetes lens area lambda softwares videoes disks tomatoes policyindices saves aliases axes',
    );
  });

  it('in plural stay what they are where they are one already', () => {
    const words = 'data people policies children status-data media medium news ssh photo';
    expect(words.split(' ').map(pluralOf).join(' ')).toBe(
      'data people policies children status-data media media news sshs photos',
    );
  });
});

describe('nodes', () => {
  it('[R7] have exactly one of template and externalRef, which has one of name and selector', () => {
    const external = (metadata: string, more = ''): string =>
      wrong(
        graph(
          `\n- id: a\n  externalRef: {apiVersion: v1, kind: ConfigMap, metadata: ${metadata}}\n  ${more}`,
        ),
      );
    expect(external('{name: x}')).toBe('');
    expect(external('{selector: {matchLabels: {a: b}}}')).toBe('');
    expect(external('{name: x, selector: {}}')).toContain('there are both name and selector');
    expect(external('{namespace: x}')).toContain('there is neither name nor selector');
    expect(external('{name: x}', 'forEach: [{b: "${[1]}"}]')).toContain('no forEach beside externalRef');
    expect(wrong(graph('\n- id: a'))).toContain(
      'resources[0] (node a): there is neither template nor externalRef',
    );
    expect(wrong(graph('\n- id: a\n  template: {}\n  externalRef: {}'))).toContain('there are both');
  });

  it('[R11] must not have labels and annotations of the engine', () => {
    const resource =
      '\n- id: a\n  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {kro.run/x: z}, annotations: {internal.kro.run/x: z}}}';
    expect(wrong(graph(resource))).toBe(
      [
        'resources[0].template.metadata.labels["kro.run/x"] (node a): "kro.run/x" is written by the engine; expected a key with another prefix',
        'resources[0].template.metadata.annotations["internal.kro.run/x"] (node a): "internal.kro.run/x" is written by the engine; expected a key with another prefix',
      ].join('\n'),
    );
  });

  it('are of kinds that are known', () => {
    const resource =
      '\n- id: a\n  template: {apiVersion: x.example/v1, kind: Thing, metadata: {name: a}, spec: {b: "${schema.spec.count}"}}';
    expect(wrong(graph(resource))).toContain(
      'resources[0].template (node a): the kind x.example/v1 Thing is not known',
    );
    expect(wrong(graph(resource), { allowUnknownKinds: true })).toBe('');
  });

  it('[R47] say a namespace where instance and kind need one, and only there', () => {
    const cell = (scope: string, kind: string, namespace: string): string =>
      wrong(
        `schema: {scope: ${scope}}\nresources: [{id: a, template: {apiVersion: v1, kind: ${kind}, metadata: {name: a${namespace}}}}]`,
      );
    expect(cell('Namespaced', 'ConfigMap', '')).toBe('');
    expect(cell('Namespaced', 'ConfigMap', ', namespace: b')).toBe('');
    expect(cell('Namespaced', 'Namespace', ', namespace: b')).toContain(
      'Namespace is cluster-scoped; expected no namespace',
    );
    expect(cell('Cluster', 'ConfigMap', '')).toContain(
      'ConfigMap is namespaced and the instance is cluster-scoped; expected a namespace',
    );
    expect(cell('Cluster', 'ConfigMap', ', namespace: b')).toBe('');
    expect(cell('Cluster', 'ConfigMap', ', namespace: " "')).toContain('expected a namespace');
    const read = (metadata: string): string =>
      wrong(
        `schema: {scope: Cluster}\nresources: [{id: a, externalRef: {apiVersion: v1, kind: ConfigMap, metadata: ${metadata}}}]`,
      );
    expect(read('{name: a}')).toContain(
      'resources[0].externalRef.metadata.namespace (node a): ConfigMap is namespaced',
    );
    expect([read('{name: a, namespace: b}'), read('{selector: {}}')]).toEqual(['', '']);
    expect(cell('Cluster', 'Namespace', '')).toBe('');
  });
});

describe('templates', () => {
  it('[R23] keep the type of an expression that stands alone; in a text all parts are strings', () => {
    const deployment = (replicas: string): string =>
      graph(
        `\n- id: a\n  template: {apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replicas: ${replicas}}}`,
      );
    expect(wrong(deployment('"${schema.spec.count}"'))).toBe('');
    expect(wrong(deployment('"${schema.spec.name}"'))).toBe(
      'resources[0].template.spec.replicas (node a), ${schema.spec.name}: the expression gives a string; expected an integer',
    );
    expect(wrong(value('a${1}'))).toBe(
      'resources[0].template.data.v (node a), ${1}: within a text the expression gives an int; expected a string; string() makes one',
    );
    expect(wrong(value('${schema.spec.name}-${string(schema.spec.count)}'))).toBe('');
    expect(wrong(deployment('"1${schema.spec.name}"'))).toContain(
      'a text with expressions in it is a string; expected an integer',
    );
  });

  it('[R24] have expressions in values only, not in apiVersion and kind, of definitions of kinds in metadata', () => {
    const template = (text: string): string => wrong(graph(`\n- id: a\n  template: ${text}`));
    expect(
      template('{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {"${schema.spec.name}": b}}'),
    ).toContain('holds an expression; expected expressions in values only');
    expect(template('{apiVersion: "${schema.spec.name}", kind: ConfigMap, metadata: {name: a}}')).toContain(
      'template.apiVersion (node a): found an expression',
    );
    expect(template('{apiVersion: v1, kind: "${schema.spec.name}", metadata: {name: a}}')).toContain(
      'template.kind (node a): found an expression',
    );
    const crd = (name: string, group: string): string =>
      template(
        `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: "${name}"}, spec: {group: "${group}"}}`,
      );
    expect(crd('${schema.spec.name}', 'a.example')).toBe('');
    expect(crd('a', '${schema.spec.name}')).toContain('only the metadata may hold expressions');
  });

  it('[R25] have values of the kinds that the schema wants', () => {
    const spec = (text: string): string =>
      wrong(
        graph(
          `\n- id: a\n  template: {apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: ${text}}`,
        ),
      );
    expect(spec('{replicas: x}')).toBe(
      'resources[0].template.spec.replicas (node a): found the string "x"; expected an integer',
    );
    expect(spec('{replicas: 1.5}')).toContain('found the number 1.5; expected an integer');
    expect(spec('{paused: 1}')).toContain('expected a bool');
    expect(spec('{template: {spec: {containers: {}}}}')).toContain(
      'found an object; expected a list, each element an object with env, image, name',
    );
    const port = (text: string): string =>
      wrong(
        graph(
          `\n- id: a\n  template: {apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{targetPort: ${text}}]}}`,
        ),
      );
    expect(port('80') + port('http') + port('"${schema.spec.count}"')).toBe('');
    expect(port('true')).toContain('expected an integer or a string');
  });

  it('[R26] have no unknown fields, but where anything is kept', () => {
    expect(
      wrong(
        graph(
          '\n- id: a\n  template: {apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replica: 1}}',
        ),
      ),
    ).toBe(
      'resources[0].template.spec.replica (node a): there is no field "replica"; expected one of paused, replicas, template',
    );
    expect(
      wrong(
        graph(
          '\n- id: a\n  template: {apiVersion: example.com/v1, kind: Free, metadata: {name: a}, spec: {any: {thing: ["${schema.spec.count}"]}}}',
        ),
      ),
    ).toBe('');
  });

  it('[R33] take values by their structure', () => {
    const env = (expression: string): string =>
      wrong(
        graph(
          `\n- id: a\n  template: {apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {template: {spec: {containers: [{env: "\${${expression}}"}]}}}}`,
          'spec: {env: "[]E", wide: "[]W", names: "[]string", any: object}, types: {E: {name: string}, W: {name: string, other: string}}',
        ),
      );
    expect(env('schema.spec.env')).toBe('');
    expect(env("[{'name': 'a', 'value': 'b'}]")).toBe('');
    expect(env('schema.spec.any.list')).toBe('');
    expect(env('optional.of(schema.spec.env)')).toBe('');
    expect(env('schema.spec.wide')).toContain('the expression gives a field "other" that is not wanted');
    expect(env('schema.spec.names')).toContain('at [], the expression gives a string');
  });

  it('[R31] may omit fields where the gate is on, but none that is needed', () => {
    const omits = "${schema.spec.flag ? 'x' : omit()}";
    expect(wrong(value(omits))).toContain(
      'omit() is switched off; the feature gate CELOmitFunction switches it on',
    );
    expect(wrong(value(omits), { omit: true })).toBe('');
    expect(wrong(value('a${omit()}'), { omit: true })).toContain('omit() cannot be a part of a text');
    expect(
      wrong(
        graph('\n- id: a\n  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${omit()}"}}'),
        { omit: true },
      ),
    ).toContain('this field cannot be omitted');
    expect(wrong(graph(CONFIG('a', 'includeWhen: ["${omit()}"]')), { omit: true })).toContain(
      "undeclared reference to 'omit'",
    );
  });

  it('name fields that are words of the language', () => {
    expect(
      wrong(
        graph(
          CONFIG('a', '', '{v: "${schema.metadata.namespace + schema.spec.namespace}"}'),
          'spec: {namespace: string}',
        ),
      ),
    ).toBe('');
  });

  it('of faulty expressions say place, fault and what would fit', () => {
    expect(wrong(value('${schema.spec.nmae}'))).toBe(
      "resources[0].template.data.v (node a), ${schema.spec.nmae} at 1:12: undefined field 'nmae'; expected fields are name, count, names, flag",
    );
    expect(wrong(value('${other.x}'))).toContain("undeclared reference to 'other'; expected one of schema");
  });
});

describe('[R27] variables by position', () => {
  const two = (a: string): string =>
    wrong(
      graph(
        `${CONFIG('b')}\n- id: a\n  ${a.replaceAll('\n', '\n  ')}\n  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "\${schema.spec.name}"}}`,
      ),
    );
  it('templates: no node itself', () => {
    expect(wrong(value('${a.metadata.name}'))).toContain('"a" cannot be used in templates; expected schema');
    expect(wrong(value('${schema.status.x}'))).toContain("undefined field 'status'");
  });
  it('forEach: no sibling', () => {
    const text = wrong(
      graph(
        `\n- id: a\n  forEach: [{x: "\${schema.spec.names}"}, {z: "\${[x]}"}]\n  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "\${x + z}"}}`,
      ),
    );
    expect(text).toContain(
      'resources[0].forEach[1] (node a), ${[x]}: "x" cannot be used in forEach; expected schema',
    );
  });
  it('[R42] readyWhen: the node itself, or each; bools', () => {
    expect(two('readyWhen: ["${a.metadata.name != \'\'}"]')).toBe('');
    expect(two('readyWhen: ["${b.metadata.name != \'\'}"]')).toContain(
      '"b" cannot be used in readyWhen; expected a',
    );
    expect(two('readyWhen: ["${schema.spec.flag}"]')).toContain('"schema" cannot be used in readyWhen');
    expect(two('readyWhen: ["${a.metadata.name}"]')).toContain(
      'the expression gives a string; expected a bool',
    );
    expect(two('readyWhen: ["a"]')).toContain('found "a"; expected one expression, ${…}, and nothing else');
    const each = (ready: string): string =>
      wrong(
        graph(
          `\n- id: a\n  forEach: [{x: "\${schema.spec.names}"}]\n  readyWhen: ["\${${ready}}"]\n  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "\${x}"}}`,
        ),
      );
    expect(each("each.metadata.name != ''")).toBe('');
    expect(each('a.size() > 0')).toContain('"a" cannot be used in readyWhen of a collection; expected each');
  });
  it('includeWhen: schema and other nodes', () => {
    expect(two('includeWhen: ["${schema.spec.flag && b.metadata.name != \'\'}"]')).toBe('');
    expect(two('includeWhen: ["${a.metadata.name != \'\'}"]')).toContain(
      '"a" cannot be used in includeWhen; expected b, schema',
    );
  });
  it('status: something, and no constants', () => {
    const status = (text: string): string =>
      wrong(graph(CONFIG('a'), `spec: {count: integer}, status: ${text}`));
    expect(status('{a: "${schema.spec.count}", b: "x${a.metadata.name}", c: {d: ["${a.data}"]}}')).toBe('');
    expect(status('{a: "${1 + 1}"}')).toContain(
      'schema.status.a: it depends on nothing; expected an expression that uses schema or a node',
    );
    expect(status('{a: b, c: 1}')).toBe(
      'schema.status.a: found the constant "b"; expected an expression that uses schema or a node\nschema.status.c: found the constant 1; expected an expression that uses schema or a node',
    );
  });
  it('conditions: made by newCondition, each type once', () => {
    const conditions = (...items: string[]): string =>
      wrong(graph(CONFIG('a'), `spec: {count: integer}, status: {conditions: ${JSON.stringify(items)}}`));
    const made =
      "${runtime.newCondition({type: 'Up', status: a.metadata.name != '' ? 'True' : 'False', message: 'm'})}";
    expect(conditions(made)).toBe('');
    expect(conditions(made, made)).toContain('conditions[0] gives a condition "Up", too');
    expect(conditions("${runtime.newCondition({type: 'Up'})}")).toContain('a condition needs status');
    expect(conditions("${runtime.newCondition({type: 'Up', status: 'True', x: 1})}")).toContain(
      'a condition has the fields type, status, reason, message',
    );
    expect(conditions('${a.metadata.name}')).toContain('expected a condition, or a list of them;');
    expect(conditions("${a.data.map(k, runtime.newCondition({type: k, status: 'True'}))}")).toBe('');
    expect(conditions('${[a.metadata.name]}')).toContain('the expression gives a list(string)');
    expect(conditions("${runtime.newCondition({type: 'Up', status: 'true'})}")).toContain(
      'status must be True, False or Unknown, not "true"',
    );
    expect(conditions("${runtime.newCondition({type: '', status: 'True'})}")).toContain(
      'type must not be empty',
    );
    expect(
      conditions("${runtime.newCondition({type: 'Up', status: runtime.condition(schema, 'Ready').status})}"),
    ).toBe('');
    expect(
      conditions("${runtime.newCondition({type: 'Up', status: runtime.condition(schema, 'Other').status})}"),
    ).toContain('the engine computes no condition "Other"');
  });
});

describe('order', () => {
  const chain = graph(
    `${CONFIG('c', '', '{v: "${b.metadata.name}"}')}${CONFIG('a')}${CONFIG('b', 'includeWhen: ["${a.metadata.name != \'\'}"]')}`,
  );

  it('[R40] follows references in templates, forEach and includeWhen, always the same', () => {
    const orders = new Set(
      Array.from({ length: 100 }, () =>
        compiled(chain)
          .nodes.map(({ id }) => id)
          .join(),
      ),
    );
    expect([...orders]).toEqual(['a,b,c']);
    expect(compiled(chain).nodes.map(({ id, wave, dependencies }) => [id, wave, dependencies])).toEqual([
      ['a', 1, []],
      ['b', 2, ['a']],
      ['c', 3, ['b']],
    ]);
    // What nothing depends on has the highest wave, however little it needs itself: removal takes all of that at once.
    const loose = graph(`${CONFIG('z')}${CONFIG('b', '', '{v: "${a.metadata.name}"}')}${CONFIG('a')}`);
    expect(compiled(loose).nodes.map(({ id, wave }) => [id, wave])).toEqual([
      ['z', 2],
      ['a', 1],
      ['b', 2],
    ]);
    const each = `${CONFIG('a')}\n- id: b\n  forEach: [{x: "\${a.data.map(k, k)}"}]\n  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "\${x}"}}`;
    expect(compiled(graph(each)).nodes[1]?.dependencies).toEqual(['a']);
  });

  it('[R41] has no cycles; a message shows the way around', () => {
    const cycle = graph(
      `${CONFIG('a', '', '{v: "${b.metadata.name}"}')}${CONFIG('b', '', '{v: "${a.metadata.name}"}')}`,
    );
    expect(wrong(cycle)).toBe(
      'resources[0] (node a): nodes depend on each other in a cycle: a -> b -> a; expected an order in which each node comes after those it uses',
    );
  });
});

it('collections have every variable in what tells their objects apart, and at most ten of them', () => {
  const each = (forEach: string, name: string): string =>
    wrong(
      graph(
        `\n- id: a\n  forEach: ${forEach}\n  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${name}"}}`,
      ),
    );
  const list = '"${schema.spec.names}"';
  expect(each(`[{x: ${list}}, {z: ${list}}]`, '${x}-${z}')).toBe('');
  expect(each(`[{x: ${list}}, {z: ${list}}]`, '${x}')).toContain('the variable "z" of forEach is not in it');
  expect(each(`[{x: "\${schema.spec.count}"}]`, '${x}')).toContain(
    'the expression gives an int; expected a list',
  );
  expect(each(`[${Array.from({ length: 11 }, (_, i) => `{v${i}: ${list}}`).join()}]`, 'x')).toContain(
    'there are 11 dimensions; expected at most 10',
  );
});

describe('definitions of instances', () => {
  const full = `
schema:
  kind: Shop
  apiVersion: v1beta1
  group: shop.example
  scope: Cluster
  shortNames: [sh]
  categories: [all]
  metadata: {labels: {team: web}}
  types: {Port: "integer | default=80 minimum=1"}
  spec: {name: "string | required=true immutable=true", port: Port, tags: "map[string]string", mode: 'string | enum="a,b" default=a'}
  status:
    names: "\${web.map(w, w.metadata.name)}"
    conditions_: "\${first.status.conditions}"
    free: "\${schema.spec.tags}"
    nested: {text: "has \${first.metadata.name}", list: ["\${first.status.availableReplicas}"]}
    any: "\${thing.spec.x}"
    made: "\${first.metadata.creationTimestamp}"
resources:
- id: first
  template: {apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: b}}
- id: web
  forEach: [{i: "\${[1, 2]}"}]
  template: {apiVersion: apps/v1, kind: Deployment, metadata: {name: "w\${string(i)}", namespace: b}}
- id: thing
  template: {apiVersion: example.com/v1, kind: Free, metadata: {name: a, namespace: b}}
`;

  it('[R48] have the schema of the spec, the inferred one of the status, and the usual columns', async () => {
    const text = (yaml: string): string => stringify(compiled(yaml).definition, { lineWidth: 0 });
    await expect(text(full)).toMatchFileSnapshot('../testdata/shop.crd.yaml');
    await expect(text('schema: {kind: Empty, apiVersion: v1alpha1}')).toMatchFileSnapshot(
      '../testdata/empty.crd.yaml',
    );
  });

  it('have other columns where they are given', () => {
    const column = '{name: Image, type: string, jsonPath: .spec.image}';
    const { definition } = compiled(`schema: {additionalPrinterColumns: [${column}]}`);
    const [version] = (definition['spec'] as { versions: { additionalPrinterColumns: unknown }[] }).versions;
    expect(version?.additionalPrinterColumns).toEqual([
      { name: 'Image', type: 'string', jsonPath: '.spec.image' },
    ]);
  });

  it('have defaults and rules that an API server takes', () => {
    expect(wrong('schema: {spec: {a: \'string | default=x enum="a,b"\'}}')).toContain(
      'schema.spec.a.default',
    );
    expect(wrong('schema: {spec: {a: \'string | validation="self > 1"\'}}')).toContain(
      'schema.spec.a, ${self > 1}',
    );
  });
});

it('a field state of the status is a warning: the engine has its own', () => {
  const { warnings } = compileGraph(
    definitionIn('schema: {spec: {a: string}, status: {state: "${schema.spec.a}"}}'),
    { schemas: someKinds },
  );
  expect(warnings.map(({ path }) => path)).toEqual(['schema.status.state']);
});
