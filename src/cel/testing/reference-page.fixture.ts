import {
  type KubernetesVersion,
  kubernetesLibraries,
  type Library,
  languageLibraries,
  type Overload,
} from '../index.ts';
import { formatType } from '../types/type.ts';

const VERSIONS: readonly KubernetesVersion[] = [
  '1.28',
  '1.29',
  '1.30',
  '1.31',
  '1.32',
  '1.33',
  '1.34',
  '1.35',
  '1.36',
];

const HEAD = `# Expressions (CEL)

Written from the libraries by a test of \`src/cel\` (\`vitest run src/cel/reference -u\` renews it); do not edit.

Rules of custom resources, policies, gates and graphs are written in the Common Expression Language as Kubernetes has it:
\`self.replicas <= self.maxReplicas && self.name.startsWith('a')\`. Types are checked before anything runs, costs are estimated from the
sizes that schemas declare, and counted while an expression runs. Below are all functions, with the release of Kubernetes from which new
expressions may use them. \`a.f(b)\` is written for functions that are called on their first argument; \`A\`, \`B\`, \`K\`, \`T\` stand for any type.

Macros: \`has(a.b)\`, \`all\`, \`exists\`, \`exists_one\`, \`map\`, \`filter\`; with index and element or key and value since 1.32: \`all\`, \`exists\`,
\`existsOne\`, \`transformList\`, \`transformMap\`, \`transformMapEntry\`; for optionals \`optMap\`, \`optFlatMap\`, \`a.?b\`, \`a[?b]\`, \`[?a]\`, \`{?a: b}\`.

## Try one

\`atoll cel eval\` evaluates an expression with variables given as JSON and prints its value as JSON:

    $ atoll cel eval -e 'self.replicas <= self.max ? "fine" : "too many"' --var 'self={"replicas": 2, "max": 3}'
    "fine"

\`atoll cel check\` says before anything runs what is wrong, where, and what would fit; or the type and the cost by estimate. The types
of \`self\` and \`oldSelf\` come from a definition (\`--crd\`, with \`--path spec\` for a part of it) or an OpenAPI schema (\`--schema\`),
those of other variables from a file of names and types (\`--env\`; \`variables: {a: int, b: "list(string)"}\`):

    $ atoll cel check -e 'self.spec.replica <= self.spec.maxReplicas' --crd widget.yaml
    ERROR: <input>:1:10: undefined field 'replica'
     | self.spec.replica <= self.spec.maxReplicas
     | .........^
    Hint: fields are replicas
    $ atoll cel check -e 'self.spec.replicas <= self.spec.maxReplicas' --crd widget.yaml
    ok: bool, costs 7 units by estimate

\`--k8s 1.31\` takes the functions of an earlier release, \`-o json\` prints data, and the exit code is 1 where the answer is an error.

## In programs

    import { createEnvironment, DYN } from 'atoll/cel';

    const env = createEnvironment({ version: '1.36', variables: { resources: DYN } });
    const { program, issues, estimate } = env.compile('resources.vpc.status.id + "/16"');

\`compile\` checks and gives \`issues\` (place, what was found, what would fit) or a \`program\`; \`compileUnchecked\` takes what only values can
tell. \`program.evaluate(bindings, { budget, signal, unknowns })\` gives the value or the error, and the cost in units of Kubernetes; it
ends at the budget (a million units by default) or when the signal says so. With \`unknowns: ['resources.vpc.status']\` the answer says
on which inputs that are missing it depends: \`{ unknown: ['resources.vpc.status.id'] }\`. Integers of 64 bits are exact: give them as
bigints, and ask \`toJson(value, { longIntegers: 'bigint' })\` for them. Regular expressions (RE2's) take time in proportion to the text.
`;

function signature(name: string, overload: Overload): string {
  const [first, ...rest] = overload.params.map(formatType);
  const result = formatType(overload.result);
  return overload.member
    ? `${first}.${name}(${rest.join(', ')}) → ${result}`
    : `${name}(${overload.params.map(formatType).join(', ')}) → ${result}`;
}

const SHOWN = 6;

function rows(libraries: readonly Library[], note: (overload: Overload) => string | undefined): string {
  const lines: string[] = ['| function | signatures | since |', '|---|---|---|'];
  const byName = new Map<string, { overload: Overload; since: string }[]>();
  for (const { functions } of libraries) {
    for (const { name, overloads } of functions) {
      if (!/^[A-Za-z]/.test(name) || name.includes('@')) continue;
      for (const overload of overloads) {
        const since = note(overload);
        if (since === undefined) continue;
        byName.set(name, [...(byName.get(name) ?? []), { overload, since }]);
      }
    }
  }
  for (const name of [...byName.keys()].sort()) {
    for (const [since, group] of Map.groupBy(byName.get(name) ?? [], (item) => item.since)) {
      const signatures = [...new Set(group.map(({ overload }) => `\`${signature(name, overload)}\``))];
      const more = signatures.length > SHOWN ? ', …' : '';
      lines.push(`| \`${name}\` | ${signatures.slice(0, SHOWN).join(', ')}${more} | ${since} |`);
    }
  }
  return lines.join('\n');
}

/** The text of `docs/cel.md`. */
export function referencePage(): string {
  const since = new Map<string, string>();
  for (const version of VERSIONS) {
    for (const { functions } of kubernetesLibraries(version)) {
      for (const { overloads } of functions) {
        for (const { id } of overloads) if (!since.has(id)) since.set(id, version === '1.28' ? '' : version);
      }
    }
  }
  const kubernetes = rows(kubernetesLibraries(), ({ id }) => since.get(id));
  const extra = rows(languageLibraries, ({ id }) => (since.has(id) ? undefined : 'never'));
  return `${HEAD}\n## In Kubernetes\n\n${kubernetes}\n\n## Only where they are added\n\n${extra.replaceAll('| never |', '| |')}\n`;
}
