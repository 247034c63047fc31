const IRREGULAR: Readonly<Record<string, string>> = {
  person: 'people',
  child: 'children',
  man: 'men',
  woman: 'women',
  mouse: 'mice',
  ox: 'oxen',
  foot: 'feet',
  tooth: 'teeth',
  goose: 'geese',
  quiz: 'quizzes',
  leaf: 'leaves',
  life: 'lives',
  knife: 'knives',
  half: 'halves',
  shelf: 'shelves',
  self: 'selves',
  wolf: 'wolves',
  hero: 'heroes',
  potato: 'potatoes',
  tomato: 'tomatoes',
  echo: 'echoes',
  index: 'indices',
  vertex: 'vertices',
  matrix: 'matrices',
  appendix: 'appendices',
  datum: 'data',
  medium: 'media',
  bacterium: 'bacteria',
  criterion: 'criteria',
  phenomenon: 'phenomena',
  bus: 'buses',
  status: 'statuses',
  virus: 'viruses',
  alias: 'aliases',
};

const SAME: readonly string[] = [
  ...['data', 'metadata', 'equipment', 'information', 'series', 'species', 'news', 'fish', 'sheep', 'deer'],
  ...['money', 'rice', 'aircraft', 'offspring', 'feedback', 'software', 'hardware', 'police'],
];

/** The English plural of a kind in lower case, as plurals of resources are made: `policy` gives `policies`, `webapp` `webapps`. */
export function pluralOf(word: string): string {
  for (const same of SAME) if (word.endsWith(same)) return word;
  for (const [one, many] of Object.entries(IRREGULAR)) {
    // Short words end others by chance: `human`, `box`.
    if (word === one || (one.length > 4 && word.endsWith(one))) return word.slice(0, -one.length) + many;
  }
  if (/[^aeiou]y$/.test(word) || /quy$/.test(word)) return `${word.slice(0, -1)}ies`;
  if (/[sx]is$/.test(word)) return `${word.slice(0, -2)}es`;
  if (/(s|x|z|ch|sh)$/.test(word)) return `${word}es`;
  return `${word}s`;
}
