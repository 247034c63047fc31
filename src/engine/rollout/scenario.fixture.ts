import { seededRandom } from '../../runtime/random.ts';
import { parseYamlBody } from '../../schema/yaml-body.ts';
import {
  type RolloutCluster,
  type RolloutEvent,
  type RolloutState,
  type RolloutStrategy,
  recoverRollout,
  rolloutStatus,
  step,
} from './index.ts';

/**
 * Plays a scenario: a conversation with a rollout. Lines of the scenario are commands; what the rollout answers follows each,
 * after `>`. Returns the conversation with the answers that were really given, so that a test compares texts.
 *
 *   strategy … end      YAML of the strategy
 *   cluster <name> [label=value …] [has=<revision>] [facts={…}]
 *   start <revision>    again with another strategy or other clusters, too
 *   at <time>           an instant, or +90s, +5m, +2h after the last one; time passes step by step, at each `nextAt`
 *   ready|progressing|degraded|stale <cluster>…    seen with what it may have now; `old` before the names: with what it had
 *   baseline <metric> <value>      measured before the next start
 *   sample <metric> <value> [cluster]
 *   approve|reject <stage> <user> [@group …]
 *   pause|resume|abort|promote|retry|emergency|rollback|skip …
 *   restart             the hub starts again from what it had stored
 *   status              what people read
 */
export function playScenario(text: string): string {
  const random = seededRandom(1);
  const clusters = new Map<string, RolloutCluster>();
  let strategy: RolloutStrategy = {};
  const baselines: Record<string, number> = {};
  let state: RolloutState | undefined;
  let now = Date.parse('2026-01-05T00:00:00Z');
  let nextAt: number | undefined;
  const out: string[] = [];
  const send = (event: RolloutEvent, at = now): void => {
    const result = step(state, event, at, random);
    if (!result) return;
    state = JSON.parse(JSON.stringify(result.state)) as RolloutState;
    nextAt = result.nextAt;
    for (const effect of result.effects) {
      const stamp = event.type === 'tick' ? `${clock(at)} ` : '';
      if (effect.type === 'record') out.push(`> ${stamp}${effect.reason}: ${effect.message}`);
      else if (effect.type === 'measure') out.push(`> ${stamp}measure ${effect.metric} for ${effect.stage}`);
      else if (effect.type === 'hold') out.push(`> ${stamp}hold ${effect.cluster} ${effect.at}`);
      else out.push(`> ${stamp}${effect.type} ${effect.cluster} ${effect.revision}`);
    }
  };
  const passTo = (until: number): void => {
    for (let steps = 0; nextAt !== undefined && nextAt <= until && steps < 1000; steps++) {
      now = nextAt;
      send({ type: 'tick' });
    }
    now = until;
  };
  const lines = text.split('\n').filter((line) => !line.startsWith('>'));
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index] ?? '';
    out.push(line);
    const [word = '', ...args] = line.trim().split(/\s+/);
    const [first = '', second = ''] = args;
    if (word === '' || word.startsWith('#')) continue;
    else if (word === 'strategy') {
      const yaml: string[] = [];
      for (index += 1; lines[index] !== 'end'; index++) {
        if (index >= lines.length) throw new Error('strategy without end');
        out.push(lines[index] ?? '');
        yaml.push(lines[index] ?? '');
      }
      out.push('end');
      const read = parseYamlBody(Buffer.from(`${yaml.join('\n')}\n`));
      if (!('value' in read)) throw new Error(JSON.stringify(read));
      strategy = (read.value ?? {}) as RolloutStrategy;
    } else if (word === 'cluster') {
      const labels: Record<string, string> = {};
      let facts = {};
      let revision: string | undefined;
      for (const arg of args.slice(1)) {
        const [key = '', value = ''] = [arg.slice(0, arg.indexOf('=')), arg.slice(arg.indexOf('=') + 1)];
        if (key === 'has') revision = value;
        else if (key === 'facts') facts = JSON.parse(value) as object;
        else labels[key] = value;
      }
      clusters.set(first, { name: first, labels, ...(revision === undefined ? {} : { revision }), ...facts });
    } else if (word === 'leave') clusters.delete(first);
    else if (word === 'baseline') baselines[first] = Number(second);
    else if (word === 'start')
      send({ type: 'start', revision: first, clusters: [...clusters.values()], strategy, baselines });
    else if (word === 'at')
      passTo(first.startsWith('+') ? now + durationOf(first.slice(1)) : Date.parse(first));
    else if (word === 'ready' || word === 'progressing' || word === 'degraded' || word === 'stale') {
      const old = first === 'old';
      const names = (old ? args.slice(1) : args).flatMap((name) =>
        name === 'all' ? [...clusters.keys()] : [name],
      );
      const words = {
        ready: 'Ready',
        progressing: 'Progressing',
        degraded: 'Degraded',
        stale: 'Ready',
      } as const;
      const observations = names.map((cluster) => {
        const has = state?.clusters[cluster];
        const revision = old ? has?.from : has?.permitted;
        return {
          cluster,
          live: word !== 'stale',
          word: words[word],
          ...(revision === undefined ? {} : { revision }),
        };
      });
      send({ type: 'observe', observations });
    } else if (word === 'sample')
      send({
        type: 'sample',
        metric: first,
        value: Number(second),
        ...(args[2] === undefined ? {} : { cluster: args[2] }),
      });
    else if (word === 'incidents') send({ type: 'incidents', open: args });
    else if (word === 'approve' || word === 'reject') {
      const groups = args.slice(2).map((group) => group.slice(1));
      send({ type: word, stage: first, person: { user: second, groups } });
    } else if (word === 'skip') send({ type: 'skip', cluster: first, by: 'ann' });
    else if (word === 'rollback')
      send({ type: 'rollback', by: 'ann', ...(first === 'Stage' ? { scope: 'Stage' } : {}) });
    else if (
      word === 'pause' ||
      word === 'resume' ||
      word === 'abort' ||
      word === 'promote' ||
      word === 'retry' ||
      word === 'emergency'
    )
      send({ type: word, by: 'ann' });
    else if (word === 'restart') {
      if (state) state = recoverRollout(state);
      send({ type: 'tick' });
    } else if (word === 'status' && state) {
      const { phase, message, stages, unsettled } = rolloutStatus(state);
      out.push(`> ${phase}: ${message}`);
      for (const stage of stages) {
        const until = stage.waiting?.until === undefined ? '' : ` until ${clock(stage.waiting.until)}`;
        const waits = stage.waiting ? ` (${stage.waiting.reason}${until})` : '';
        out.push(`>   ${stage.name} ${stage.phase} ${stage.updated}/${stage.clusters}${waits}`);
      }
      for (const { cluster, phase: how, message: why } of unsettled)
        out.push(`>   ${cluster} ${how}: ${why}`);
    } else throw new Error(`no command: ${line}`);
  }
  return out.join('\n');
}

function clock(instant: number): string {
  return new Date(instant).toISOString().slice(5, 19).replace('T', ' ');
}

function durationOf(text: string): number {
  const units: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
  return Number(text.slice(0, -1)) * (units[text.slice(-1)] ?? Number.NaN);
}
