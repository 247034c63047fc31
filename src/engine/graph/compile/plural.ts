/**
 * Words, and the plurals that take the place of the same ending of longer words too: `policyindex` is `policyindices`. What kro's
 * inflection says counts here, also where English says otherwise: the name of a kind's CustomResourceDefinition comes of it.
 */
const WORDS = `
  child/children foot/feet goose/geese man/men human/humans mouse/mice tooth/teeth woman/women person/people
  adieu/adieux fabliau/fabliaux bureau/bureaus criterion/criteria ganglion/ganglia lexicon/lexica
  mitochondrion/mitochondria noumenon/noumena phenomenon/phenomena taxon/taxa medium/media stadium/stadiums
  aquarium/aquaria auditorium/auditoria symposium/symposia curriculum/curriculums pretorium/pretoriums
  quota/quotas agenda/agendas formula/formulas vedalia/vedalias alumna/alumnae vertebra/vertebrae
  differentia/differentiae minutia/minutiae vita/vitae larva/larvae cava/cavae uva/uvae
  alumnus/alumni bacillus/bacilli cactus/cacti coccus/cocci focus/foci locus/loci nucleus/nuclei octopus/octupuses
  radius/radii syllabus/syllabi corpus/corpora genus/genera
  apex/apices codex/codices index/indices latex/latices vertex/vertices vortex/vortices appendix/appendices
  radix/radices helix/helices crisis/crises ellipsis/ellipses genesis/geneses oasis/oases thesis/theses
  testis/testes basis/bases topaz/topazes buffalo/buffaloes potato/potatoes tomato/tomatoes
  dwarf/dwarfs hoof/hoofs thief/thieves`;

/** The same words alone: as the end of another they mean nothing. */
const WHOLE_WORDS = 'ox/oxen louse/lice die/dice axis/axes alias/aliases ssh/sshs';

/** Words that are their own plural, and so is what ends with them. */
const UNCHANGED = `aircraft beef bison blues chassis deer fish moose police salmon series sheep shrimp species swine trout
  tuna you media graffiti equipment information jeans money news rice`;

const ENDINGS = `
  eaf/eaves oaf/oaves afe/aves arf/arves rfe/rves rf/rves lf/lves fe/ves ay/ays ey/eys oy/oys uy/uys quy/quies y/ies
  eau/eaux bula/bulae dula/bulae lula/bulae nula/bulae vula/bulae hedron/hedra ium/ia seum/seums eum/ea oum/oa
  stracum/straca dum/da elum/ela ilum/ila olum/ola ulum/ula llum/lla ylum/yla imum/ima ernum/erna gnum/gna brum/bra
  crum/cra terum/tera serum/sera trum/tra antum/anta atum/ata entum/enta etum/eta itum/ita otum/ota utum/uta
  ctum/cta ovum/ova trix/trices iasis/iases mesis/meses kinesis/kineses resis/reses gnosis/gnoses opsis/opses
  ysis/yses us/uses ch/ches io/ios sh/shes ss/sses ez/ezzes iz/izzes tz/tzes zz/zzes ano/anos lo/los to/tos oo/oos
  o/oes x/xes s/s`;

interface Plurals {
  readonly whole: ReadonlyMap<string, string>;
  readonly endings: ReadonlyMap<string, string>;
  readonly longest: number;
}

const PLURALS = plurals();

function plurals(): Plurals {
  const pairs = (text: string): [string, string][] =>
    text
      .trim()
      .split(/\s+/)
      .map((pair) => {
        const [one = '', many = one] = pair.split('/');
        return [one, many];
      });
  const both = (all: readonly [string, string][]): [string, string][] => [
    // What is a plural already stays.
    ...all.map(([, many]): [string, string] => [many, many]),
    ...all,
  ];
  const endings = new Map([...both(pairs(ENDINGS)), ...both(pairs(WORDS)), ...pairs(UNCHANGED)]);
  return {
    whole: new Map(both(pairs(WHOLE_WORDS))),
    endings,
    longest: Math.max(...[...endings.keys()].map((ending) => ending.length)),
  };
}

/** The plural of a kind in lower case, as plurals of resources are made: `policy` gives `policies`, `webapp` `webapps`. */
export function pluralOf(word: string): string {
  const { whole, endings, longest } = PLURALS;
  const known = whole.get(word);
  if (known !== undefined) return known;
  for (let start = Math.max(0, word.length - longest); start < word.length; start++) {
    const many = endings.get(word.slice(start));
    if (many !== undefined) return word.slice(0, start) + many;
  }
  return `${word}s`;
}
