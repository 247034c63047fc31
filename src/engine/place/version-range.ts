/**
 * Versions as clusters report them. What follows the numbers is a stage before the release when it says alpha, beta or rc;
 * anything else (`-gke.1200`, `+k3s1`, `-eks-1a2b`) is a vendor's mark on the release itself.
 */
export type ClusterVersion = readonly [major: number, minor: number, patch: number, stage: number];

const RELEASE = 1e9;
/** Before the first stage of a release. */
const FLOOR = -1;
const STAGES: Readonly<Record<string, number>> = { alpha: 0, beta: 1e6, rc: 2e6 };
const VERSION = /^v?(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6}))?(?:-(alpha|beta|rc)\.?(\d{1,5})?)?(?:[-+.].*)?$/;

export function parseClusterVersion(text: string): ClusterVersion | undefined {
  const match = VERSION.exec(text.slice(0, 128));
  if (!match) return undefined;
  const [, major, minor, patch = '0', stage, step = '0'] = match;
  return [Number(major), Number(minor), Number(patch), stageOf(stage, step)];
}

function stageOf(stage: string | undefined, step: string): number {
  return stage === undefined ? RELEASE : (STAGES[stage] ?? 0) + Number(step);
}

export function compareClusterVersions(a: ClusterVersion, b: ClusterVersion): number {
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2] || a[3] - b[3];
}

/** From `low` up to but without `high`. */
interface Span {
  readonly low: ClusterVersion;
  readonly high: ClusterVersion;
}

const LOWEST: ClusterVersion = [0, 0, 0, FLOOR];
const HIGHEST: ClusterVersion = [Infinity, 0, 0, FLOOR];
const MAX_RANGE = 256;
const CLAUSE =
  /^(>=|<=|>|<|=|~|\^)?v?(\d{1,6}|[xX*])(?:\.(\d{1,6}|[xX*]))?(?:\.(\d{1,6}|[xX*]))?(?:-(alpha|beta|rc)\.?(\d{1,5})?)?$/;

/**
 * A test of versions: clauses such as `>=1.30`, `<1.33`, `~1.31`, `^1.30`, `1.31`, `1.31.x`, `1.30 - 1.32`, all of which must
 * hold; `||` parts alternatives. A version that is not written out means all of it: `1.31` is every 1.31, `>1.30` starts at 1.31.
 */
export function parseVersionRange(text: string): ((version: ClusterVersion) => boolean) | undefined {
  if (text.length > MAX_RANGE) return undefined;
  const alternatives: Span[][] = [];
  for (const part of text.split('||')) {
    const joined = part
      .trim()
      .replace(/(\S+)\s+-\s+(\S+)/g, '>=$1 <=$2')
      .replace(/(>=|<=|>|<|=|~|\^)\s+/g, '$1');
    const spans: Span[] = [];
    for (const clause of joined.split(/[\s,]+/)) {
      const span = spanOf(clause);
      if (!span) return undefined;
      spans.push(span);
    }
    alternatives.push(spans);
  }
  return (version) =>
    alternatives.some((spans) =>
      spans.every(
        ({ low, high }) =>
          compareClusterVersions(version, low) >= 0 && compareClusterVersions(version, high) < 0,
      ),
    );
}

function spanOf(clause: string): Span | undefined {
  const match = CLAUSE.exec(clause);
  if (!match) return undefined;
  const [, operator = '=', ...parts] = match;
  const [major, minor, patch] = parts.slice(0, 3).map(numberOf);
  if (major === undefined) return { low: LOWEST, high: HIGHEST };
  const [stage, step = '0'] = parts.slice(3);
  const low: ClusterVersion = [major, minor ?? 0, patch ?? 0, stageOf(stage, step)];
  const end = endOf(major, minor, patch, stage === undefined ? undefined : low[3]);
  switch (operator) {
    case '>=':
      return { low, high: HIGHEST };
    case '>':
      return { low: end, high: HIGHEST };
    case '<':
      return { low: LOWEST, high: stage === undefined ? [low[0], low[1], low[2], FLOOR] : low };
    case '<=':
      return { low: LOWEST, high: end };
    case '~':
      return { low, high: minor === undefined ? [major + 1, 0, 0, FLOOR] : [major, minor + 1, 0, FLOOR] };
    case '^':
      return { low, high: [major + 1, 0, 0, FLOOR] };
    default:
      return { low, high: end };
  }
}

function numberOf(text: string | undefined): number | undefined {
  return text === undefined || /^[xX*]$/.test(text) ? undefined : Number(text);
}

/** The first version that is no longer what was written. */
function endOf(
  major: number,
  minor: number | undefined,
  patch: number | undefined,
  stage: number | undefined,
): ClusterVersion {
  if (minor === undefined) return [major + 1, 0, 0, FLOOR];
  if (patch === undefined) return [major, minor + 1, 0, FLOOR];
  return stage === undefined ? [major, minor, patch + 1, FLOOR] : [major, minor, patch, stage + 1];
}
