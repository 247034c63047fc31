/**
 * The way through the house: arrows point downward only. `scripts/check-boundaries.mjs` lays two projections of src/ out for
 * this: in `types/` each module imports all that its source names, types included; `values/` is what runs.
 */
const floors = [
  ['runtime'],
  ['schema', 'cel', 'kube'],
  ['engine', 'apiserver', 'link'],
  ['dialects'],
  ['hub', 'spoke', 'provision'],
  ['cli', 'ui', 'testing'],
];

const room = (...names) => `^types/src/(${names.join('|')})/`;

const downwardOnly = floors.slice(0, -1).map((rooms, floor) => ({
  name: `floor-${floor}-imports-downward`,
  comment: `${rooms.join(', ')} may import only what is below`,
  severity: 'error',
  from: { path: room(...rooms) },
  to: { path: room(...floors.slice(floor + 1).flat()) },
}));

const apart = (comment, ...rooms) => ({
  name: `${rooms.join('-')}-apart`,
  comment,
  severity: 'error',
  from: { path: room(...rooms) },
  to: { path: room(...rooms), pathNot: '^types/src/$1/' },
});

export default {
  forbidden: [
    ...downwardOnly,
    apart(
      'pure decisions, the API server and the link know nothing of each other',
      'engine',
      'apiserver',
      'link',
    ),
    apart('hub and spoke meet in what they dispatch, never in code', 'hub', 'spoke', 'provision'),
    {
      name: 'testing-is-for-others',
      comment: 'nothing that the product runs may need what only tests need',
      severity: 'error',
      from: { path: '^types/src/', pathNot: '^types/src/testing/' },
      to: { path: room('testing') },
    },
    {
      name: 'schema-below-its-floor',
      comment: 'schemas are used by cel and kube, never the other way round',
      severity: 'error',
      from: { path: room('schema') },
      to: { path: room('cel', 'kube') },
    },
    apart('an expression knows no API, and a client no expressions', 'cel', 'kube'),
    {
      name: 'dialects-apart',
      comment: 'what two dialects need lives in engine/ or hub/',
      severity: 'error',
      from: { path: '^types/src/dialects/([^/]+)/' },
      to: { path: '^types/src/dialects/', pathNot: '^types/src/dialects/$1/' },
    },
    {
      name: 'engine-is-pure',
      comment: 'no I/O, no clock, no randomness in engine/',
      severity: 'error',
      from: { path: room('engine') },
      to: { dependencyTypes: ['core'], pathNot: '^(node:)?(buffer|crypto|util|zlib)$' },
    },
    {
      name: 'time-is-injected',
      comment: 'timers and clocks belong to runtime/',
      severity: 'error',
      from: { path: '^types/src/', pathNot: '^types/src/runtime/' },
      to: { dependencyTypes: ['core'], path: '^(node:)?(timers|timers/promises|perf_hooks)$' },
    },
    {
      name: 'no-cycles',
      comment: 'modules that need each other to load are one module',
      severity: 'error',
      from: { path: '^values/' },
      to: { circular: true },
    },
    {
      name: 'declared-packages-only',
      comment: 'what runs comes from "dependencies" of package.json',
      severity: 'error',
      from: { path: '^values/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown', 'npm-optional'] },
    },
    {
      name: 'resolvable',
      comment: 'an import that leads nowhere',
      severity: 'error',
      from: { path: '^values/' },
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    combinedDependencies: true,
    enhancedResolveOptions: { extensions: ['.js'], conditionNames: ['import', 'node', 'default'] },
  },
};
