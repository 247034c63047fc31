// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { parseYamlDocuments } from '../../schema/yaml-body.ts';
import {
  diffGraphs,
  drawGraphs,
  formatGraphs,
  lintGraphs,
  previewGraphs,
  renderGraph,
  sampleInstances,
  showDefinitions,
  validateGraphs,
} from './index.ts';

const directory = mkdtempSync(join(tmpdir(), 'atoll-graph-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

let out = '';
let err = '';
beforeEach(() => {
  out = '';
  err = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    out += String(text);
    return true;
  });
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    err += String(text);
    return true;
  });
});
afterEach(() => vi.restoreAllMocks());

function file(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

const head = (name: string): string =>
  `apiVersion: kro.run/v1alpha1\nkind: ResourceGraphDefinition\nmetadata: {name: ${name}}\nspec:\n`;
const SHOP = `${head('shop')}  schema: {kind: Shop, apiVersion: v1, spec: {name: string, replicas: "integer | default=2"}, status: {ready: "\${web.status.readyReplicas}"}}
  resources:
  - id: web
    template:
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: "\${schema.spec.name}"}
      spec:
        replicas: \${schema.spec.replicas}
        selector: {matchLabels: {app: a}}
        template: {metadata: {labels: {app: a}}, spec: {containers: [{name: c, image: i, resources: {limits: {cpu: 1, memory: "1Gi"}}}]}}
  - id: address
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "\${web.metadata.name}-address"}, data: {ready: "\${string(web.status.readyReplicas)}"}}
`;
const MALL = `${head('mall')}  schema: {kind: Mall, apiVersion: v1, spec: {shops: "[]string"}}
  resources:
  - id: shops
    forEach: [{shop: "\${schema.spec.shops}"}]
    template: {apiVersion: kro.run/v1, kind: Shop, metadata: {name: "\${shop}"}, spec: {name: "\${shop}"}}
`;
const INSTANCE = 'apiVersion: kro.run/v1\nkind: Shop\nmetadata: {name: a}\nspec: {name: cart}\n';

describe('graph validate', () => {
  it('checks against the kinds of Kubernetes and of other definitions, in any order', () => {
    const both = file('both.yaml', `${MALL}---\n${SHOP}`);
    expect(validateGraphs({ filename: [both] })).toBe(0);
    expect(out).toBe('mall: ok, Mall of 1 node: shops\nshop: ok, Shop of 2 nodes: web, address\n');
  });

  it('says where what is wrong, and ends with 1', () => {
    const bad = file(
      'bad.yaml',
      SHOP.replace('schema.spec.replicas', 'schema.spec.name').replace('kind: ConfigMap', 'kind: ConfigMaps'),
    );
    expect(validateGraphs({ filename: [bad] })).toBe(1);
    expect(out).toContain('shop: not valid\n');
    expect(out).toContain(
      `${bad}:1: resources[1].template (node address): the kind v1 ConfigMaps is not known`,
    );
    out = '';
    const worse = file('worse.yaml', SHOP.replace('schema.spec.replicas', 'schema.spec.name'));
    expect(validateGraphs({ filename: [worse], output: 'json' })).toBe(1);
    expect(JSON.parse(out)).toMatchObject({
      valid: false,
      graphs: [
        {
          name: 'shop',
          issues: [
            {
              node: 'web',
              path: 'resources[0].template.spec.replicas',
              expression: 'schema.spec.name',
              expected: 'an integer',
            },
          ],
        },
      ],
    });
  });

  it('takes kinds from definitions, or as they come where it is told so', () => {
    const alone = file('alone.yaml', MALL);
    expect(validateGraphs({ filename: [alone] })).toBe(1);
    expect(validateGraphs({ filename: [alone], allowUnknownKinds: true })).toBe(0);
    out = '';
    expect(showDefinitions({ filename: [file('shop.yaml', SHOP)] })).toBe(0);
    const schemas = file('shop-crd.yaml', out);
    out = '';
    expect(validateGraphs({ filename: [alone], schemas: [schemas] })).toBe(0);
  });

  it('refuses files without definitions', () => {
    expect(() => validateGraphs({ filename: [file('instance.yaml', INSTANCE)] })).toThrow(
      'there is no ResourceGraphDefinition',
    );
  });
});

describe('graph render', () => {
  const shop = (): string => file('render.yaml', SHOP);

  it('prints the objects, with defaults, and says what waits', () => {
    expect(renderGraph({ filename: [shop()], instance: file('i.yaml', INSTANCE), namespace: 'ns' })).toBe(0);
    const documents = parseYamlDocuments(out);
    expect(out).toContain(
      'kind: Deployment\nmetadata:\n  name: cart\n  namespace: ns\nspec:\n  replicas: 2\n',
    );
    expect(documents).toBeDefined();
    expect(out).not.toContain('kro.run/');
    expect(err).toBe(
      '# address: IN_PROGRESS: waits for a value at data.ready: ${string(web.status.readyReplicas)}: no such key: status\n',
    );
  });

  it('takes what is observed into account, and explains each node', () => {
    const observed = file(
      'observed.yaml',
      'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: cart, namespace: ns}\nstatus: {readyReplicas: 5}\n',
    );
    const options = { filename: [shop()], instance: file('i.yaml', INSTANCE), namespace: 'ns' };
    expect(renderGraph({ ...options, observed: [observed] })).toBe(0);
    expect([out.includes('ready: "5"'), err]).toEqual([true, '']);
    out = '';
    expect(renderGraph({ ...options, explain: true })).toBe(0);
    expect(out).toContain(
      'NODE      STATE         OBJECTS   WHY\nweb       SYNCED        1         -\naddress   IN_PROGRESS   0         waits for a value',
    );
    expect(renderGraph({ ...options, marks: true })).toBe(0);
    expect(out).toContain('kro.run/node-id: web');
  });

  it('ends with 1 for an instance that an API server would refuse', () => {
    const bad = file('bad-instance.yaml', INSTANCE.replace('name: cart', 'name: 1, other: 2'));
    expect(renderGraph({ filename: [shop()], instance: bad, namespace: 'ns' })).toBe(1);
    expect(err).toContain('spec.other: there is no such field');
    expect(err).toContain('spec.name: ');
  });
});

describe('graph diagram', () => {
  it('draws Mermaid and SVG', () => {
    const shop = file('draw.yaml', SHOP);
    expect(drawGraphs({ filename: [shop], format: 'mermaid' })).toBe(0);
    expect(out).toBe(
      'flowchart TD\n  schema[["Shop"]]\n  n_web["web<br/><i>Deployment</i>"]\n  n_address["address<br/><i>ConfigMap</i>"]\n  schema --> n_web\n  n_web --> n_address\n',
    );
    out = '';
    expect(drawGraphs({ filename: [shop], format: 'svg' })).toBe(0);
    expect(out).toMatch(/^<svg xmlns="http:\/\/www.w3.org\/2000\/svg" viewBox="0 0 \d+ \d+"/);
    expect(out.match(/class="edge"/g)).toHaveLength(1);
  });
});

describe('graph diff', () => {
  it('tells nodes and fields, and what breaks instances', () => {
    const from = file('from.yaml', SHOP);
    expect(diffGraphs({ filename: [from], from: [from] })).toBe(0);
    expect(out).toBe('shop: same\n');
    out = '';
    const to = file(
      'to.yaml',
      SHOP.replace('"integer | default=2"', '"integer | default=2 maximum=5"').replace(
        'image: i',
        'image: j',
      ),
    );
    expect(diffGraphs({ filename: [to], from: [from] })).toBe(1);
    expect(out.replace(/\(.*\)/, '()')).toBe(
      'shop: changed ()\n  ~ node web\n  ! breaking: v1: spec.replicas: maximum=5 is added\n',
    );
  });
});

/** Everything that a graph may have, in one definition. */
const FULL = `# A shop.
${head('market')}  resources:
  - template:
      kind: Deployment
      apiVersion: apps/v1
      metadata: {name: "\${schema.metadata.name}"}
      spec:
        replicas: \${schema.spec.replicas} # as many as are wanted
        selector: {matchLabels: {app: a}}
        template: {metadata: {labels: {app: a}}, spec: {containers: [{name: c, image: "\${image.full}"}]}}
    id: web
  - id: image
    def: {full: "\${schema.spec.image + ':' + schema.spec.tag}"}
  - id: settings
    externalRef: {apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}
  - id: parts
    forEach: [{part: "\${schema.spec.parts}"}]
    includeWhen: ["\${schema.spec.split}"]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "\${web.metadata.name}-\${part}"}, data: {tone: "\${settings.data.tone}"}}
  - id: fixed
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: fixed}}
  - id: idle
    def: {a: b}
  schema:
    kind: Market
    apiVersion: v1alpha1
    group: shop.example
    spec:
      image: string | required=true minLength=2
      tag: 'string | default=latest'
      replicas: integer | default=2 minimum=1
      size: 'string | enum="s,m"'
      split: boolean
      parts: '[]string | minItems=1'
      labels: map[string]string
      limits: {cpu: integer | minimum=3, deep: {active: boolean | default=true}}
    status:
      ready: \${web.status.readyReplicas}
      names: "\${parts.map(p, p.metadata.name)}"
`;

describe('[R103] what is made of a definition', () => {
  const golden = (name: string): string => `testdata/${name}`;
  const files = (): string[] => [file('market.yaml', FULL)];

  it('is said to be right, with its nodes', async () => {
    expect(validateGraphs({ filename: files(), output: 'yaml' })).toBe(0);
    await expect(out.replaceAll(directory, '')).toMatchFileSnapshot(golden('market.validate.yaml'));
  });

  it('is a kind', async () => {
    expect(showDefinitions({ filename: files() })).toBe(0);
    await expect(out).toMatchFileSnapshot(golden('market.crd.yaml'));
    out = '';
    expect(showDefinitions({ filename: files(), output: 'json' })).toBe(0);
    const yaml = readFileSync(join(import.meta.dirname, golden('market.crd.yaml')), 'utf8');
    expect(parseYamlDocuments(yaml)).toMatchObject([{ result: { value: JSON.parse(out) } }]);
  });

  it('is an instance, which its own kind admits', async () => {
    expect(sampleInstances({ filename: files() })).toBe(0);
    await expect(out).toMatchFileSnapshot(golden('market.instance.yaml'));
    const instance = file('sample.yaml', out);
    expect(renderGraph({ filename: files(), instance, namespace: 'default' }), err).toBe(0);
    out = '';
    expect(sampleInstances({ filename: files(), output: 'json' })).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      kind: 'Market',
      spec: { limits: { cpu: 3, deep: { active: true } } },
    });
  });

  it('is a drawing', async () => {
    expect(drawGraphs({ filename: files(), format: 'mermaid' })).toBe(0);
    await expect(out).toMatchFileSnapshot(golden('market.mmd'));
    out = '';
    expect(drawGraphs({ filename: files(), format: 'svg' })).toBe(0);
    await expect(out).toMatchFileSnapshot(golden('market.svg'));
  });
});

describe('graph lint', () => {
  it('says what is probably not meant', () => {
    expect(lintGraphs({ filename: [file('market.yaml', FULL)] })).toBe(1);
    expect(out).toBe(
      [
        'market: no expression uses the field spec.size (unused-field)',
        'market: no expression uses the field spec.labels (unused-field)',
        'market: no expression uses the field spec.limits (unused-field)',
        'market: node web: parts may come before it works: it has no readyWhen (no-readiness)',
        'market: node fixed: all instances of a namespace make an object of this name; only one of them can have it (same-name)',
        'market: node idle: nothing uses it (unused-value)',
        '',
      ].join('\n'),
    );
    out = '';
    const good = SHOP.replace(
      '- id: web\n',
      '- id: web\n    readyWhen: ["${web.status.readyReplicas > 0}"]\n',
    );
    expect([lintGraphs({ filename: [file('good.yaml', good)] }), out]).toEqual([0, '']);
  });
});

describe('graph fmt', () => {
  it('puts fields in order, keeps comments and what the file means, and changes nothing twice', async () => {
    const path = file('unordered.yaml', `${FULL}---\nkind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\n`);
    const meaning = (): unknown => parseYamlDocuments(readFileSync(path, 'utf8')).map(({ result }) => result);
    const before = meaning();
    expect(formatGraphs({ filename: [path], check: true })).toBe(1);
    expect(readFileSync(path, 'utf8')).toContain('# A shop.');
    expect(formatGraphs({ filename: [path] })).toBe(0);
    await expect(readFileSync(path, 'utf8')).toMatchFileSnapshot('testdata/market.fmt.yaml');
    expect(meaning()).toEqual(before);
    expect(formatGraphs({ filename: [path], check: true })).toBe(0);
    expect(() => formatGraphs({ filename: [file('broken.yaml', 'a: [')] })).toThrow('broken.yaml: ');
  });
});

describe('graph preview', () => {
  it('says what of instances changes, object by object', () => {
    const from = file('from.yaml', SHOP);
    const instance = file('i.yaml', INSTANCE);
    const options = { from: [from], instance: [instance], namespace: 'ns' };
    expect(previewGraphs({ ...options, filename: [from] })).toBe(0);
    expect(out).toBe('nothing changes\n');
    out = '';
    const to = file(
      'to.yaml',
      SHOP.replace('image: i', 'image: j').replace(
        'name: "${schema.spec.name}"',
        'name: "new-${schema.spec.name}"',
      ),
    );
    expect(previewGraphs({ ...options, filename: [to] })).toBe(1);
    expect(out).toBe('- Shop a: Deployment ns/cart\n+ Shop a: Deployment ns/new-cart\n');
    out = '';
    const image = file('image.yaml', SHOP.replace('image: i', 'image: j'));
    expect(previewGraphs({ ...options, filename: [image] })).toBe(1);
    expect(out).toBe(
      '~ Shop a: Deployment ns/cart\n    spec.template.spec.containers[0].image: "i" -> "j"\n',
    );
  });
});

describe('a Graph', () => {
  const GRAPH = `apiVersion: kro.run/v1alpha1
kind: Graph
metadata: {name: baseline, namespace: team-a}
spec:
  nodes:
  - id: settings
    def: {tier: gold}
  - id: quota
    template: {apiVersion: v1, kind: ResourceQuota, metadata: {name: baseline}, spec: {hard: {pods: "50"}}}
  - id: inner
    graph:
      nodes:
      - id: note
        template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "\${quota.metadata.name}-note"}, data: {tier: "\${settings.tier}"}}
  - id: mark
    patch: {apiVersion: v1, kind: ConfigMap, metadata: {name: shared}, data: {quota: "\${quota.metadata.name}"}}
`;

  it('is checked and rendered by itself, also among definitions', () => {
    const path = file('graph.yaml', GRAPH);
    expect(validateGraphs({ filename: [path] }), out).toBe(0);
    expect(out).toBe('baseline: ok, a Graph of 4 nodes: settings, quota, inner.note, mark\n');
    out = '';
    expect(renderGraph({ filename: [path], namespace: 'default' })).toBe(0);
    expect(parseYamlDocuments(out).map(({ result }) => result)).toMatchObject([
      { value: { kind: 'ResourceQuota', metadata: { name: 'baseline', namespace: 'team-a' } } },
      { value: { kind: 'ConfigMap', metadata: { name: 'baseline-note' }, data: { tier: 'gold' } } },
    ]);
    expect(err).toBe('# mark: WAITING_FOR_READINESS: ConfigMap team-a/shared does not exist\n');
    out = '';
    const observed = file(
      'shared.yaml',
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shared, namespace: team-a, uid: u}\n',
    );
    expect(renderGraph({ filename: [path], observed: [observed], namespace: 'default' })).toBe(0);
    expect(out).toContain('data:\n  quota: baseline\n');
    out = '';
    const both = file('both.yaml', `${SHOP}---\n${GRAPH.replace('settings.tier', 'setting.tier')}`);
    expect(validateGraphs({ filename: [both] })).toBe(1);
    expect(out).toContain('shop: ok, Shop of 2 nodes');
    expect(out).toContain(
      "nodes[2].graph.nodes[0].template.data.tier (node note), ${setting.tier} at 1:1: undeclared reference to 'setting'",
    );
    expect(() => renderGraph({ filename: [both], namespace: 'default' })).toThrow('baseline is not right');
    expect(() => renderGraph({ filename: [file('shop.yaml', SHOP)], namespace: 'default' })).toThrow(
      'takes an instance: --instance FILE',
    );
  });

  it('is drawn, with graphs within it, and nothing above it', () => {
    const path = file('graph.yaml', GRAPH);
    expect(drawGraphs({ filename: [path], format: 'mermaid' })).toBe(0);
    expect(out).toBe(`flowchart TD
  n_settings["settings<br/><i>value</i>"]
  n_quota["quota<br/><i>ResourceQuota</i>"]
  n_mark["mark<br/><i>patch of ConfigMap</i>"]
  subgraph g_inner["inner"]
    n_inner__note["note<br/><i>ConfigMap</i>"]
  end
  n_quota --> n_inner__note
  n_settings --> n_inner__note
  n_quota --> n_mark
`);
    out = '';
    expect(drawGraphs({ filename: [path], format: 'svg' })).toBe(0);
    expect(out.match(/<g class="node">/g)).toHaveLength(4);
    expect(() => drawGraphs({ filename: [path, file('shop.yaml', SHOP)], format: 'svg' })).toThrow(
      'there are 2 graphs; an SVG shows one',
    );
  });

  it('is looked through for what is probably not meant', () => {
    expect([lintGraphs({ filename: [file('graph.yaml', GRAPH)] }), out]).toEqual([0, '']);
    const slow = `  - id: unused
    def: {a: b}
  - id: web
    template: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {selector: {}, template: {}}}
  - id: known
    ref: {apiVersion: apps/v1, kind: Deployment, metadata: {name: other}}
`;
    expect(lintGraphs({ filename: [file('slow.yaml', GRAPH + slow)] })).toBe(1);
    expect(out).toBe(
      'baseline: node unused: nothing uses it (unused-value)\n' +
        'baseline: node web: the Graph is ready before it works: it has no readyWhen (no-readiness)\n',
    );
  });
});

/** Definitions of the world outside, where they are at hand. */
const EXAMPLES = join(import.meta.dirname, '../../../../shared/data/kro-examples');

describe.skipIf(!existsSync(EXAMPLES))('examples of kro', () => {
  const names = existsSync(EXAMPLES) ? readdirSync(EXAMPLES) : [];
  it.each(names)('%s compiles and renders', (name) => {
    const path = join(EXAMPLES, name);
    expect(validateGraphs({ filename: [path] }), out).toBe(0);
    out = '';
    const instance = readdirSync(path).find((item) => item.includes('instance')) ?? '';
    expect(
      renderGraph({ filename: [path], instance: join(path, instance), namespace: 'default', explain: true }),
      out + err,
    ).toBe(0);
    expect(out).not.toContain('ERROR');
  });
});

if (!existsSync(EXAMPLES))
  // A suite that did not run must not look like one that passed.
  process.stderr.write(`SKIPPED: the examples of kro are not at ${EXAMPLES}\n`);
