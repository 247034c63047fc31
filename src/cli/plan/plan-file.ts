import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { PlanInputs } from '../../engine/plan/change.ts';
import { isObject } from '../../schema/json.ts';
import { writePrivate } from '../fleet-directory.ts';

/** A plan as it is saved: what it is of, and digests of all that it follows from. No manifest and no value is in it. */
export interface SavedPlan {
  readonly hash: string;
  readonly server: string;
  readonly context: string;
  readonly filename?: readonly string[];
  readonly recursive?: boolean;
  readonly namespace?: string;
  readonly name?: string;
  readonly inputs: PlanInputs;
}

const DIRECTORY = 'plans';
/** Enough to name a plan; more digits may be given. */
const SHORT = 12;
/** Older ones go. */
const MOST = 100;

export function shortHash(hash: string): string {
  return hash.slice(0, SHORT);
}

export function savePlan(directory: string, plan: SavedPlan): string {
  const folder = join(directory, DIRECTORY);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, `${shortHash(plan.hash)}.json`);
  writePrivate(path, `${JSON.stringify(plan, null, 2)}\n`);
  const saved = readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .map((name) => join(folder, name))
    .sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs);
  for (const old of saved.slice(MOST)) if (old !== path) rmSync(old, { force: true });
  return path;
}

/** Throws an Error where there is none, or the file is no plan. */
export function loadPlan(directory: string, hash: string): SavedPlan {
  const given = hash.replace(/^sha256:/, '').toLowerCase();
  if (!/^[0-9a-f]{6,64}$/.test(given))
    throw new Error(`${hash} is no hash of a plan: six hex digits or more`);
  const folder = join(directory, DIRECTORY);
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const found = names.filter((name) => name.startsWith(given.slice(0, SHORT)) && name.endsWith('.json'));
  const [name, other] = found;
  if (name === undefined) throw new Error(`${folder} has no plan ${hash}; make one with: atoll plan`);
  if (other !== undefined) throw new Error(`${hash} means more than one plan; give more digits`);
  const path = join(folder, name);
  const plan: unknown = JSON.parse(readFileSync(path, 'utf8'));
  if (
    !isObject(plan) ||
    typeof plan['hash'] !== 'string' ||
    !isObject(plan['inputs']) ||
    !plan['hash'].startsWith(given)
  )
    throw new Error(`${path} is no plan ${hash}`);
  return plan as unknown as SavedPlan;
}
