import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { judgeProbe, type ProbeThresholds, type ProbeVerdict } from './probe-verdict.ts';

/** Verdicts after each probe: `+` succeeds, `-` fails. */
function verdicts(probes: string, thresholds?: ProbeThresholds): string {
  let verdict: ProbeVerdict | undefined;
  let out = '';
  for (const probe of probes) {
    verdict = judgeProbe(verdict, probe === '+', thresholds);
    out += verdict.up ? '+' : '-';
  }
  return out;
}

describe('a verdict on probes', () => {
  it('follows each probe where nothing is said', () => {
    expect(verdicts('+-+--+')).toBe('+-+--+');
  });

  it('takes the first probe at its word', () => {
    expect(verdicts('-', { failure: 3, success: 3 })).toBe('-');
    expect(verdicts('+', { failure: 3, success: 3 })).toBe('+');
  });

  it.each([
    ['+---', '+++-'],
    ['+--+--+', '+++++++'],
    ['++++++++++--', '++++++++++++'],
    ['++++++++++---', '++++++++++++-'],
    ['---+', '---+'],
  ])('needs three failures in a row, also after a long run: %s', (probes, expected) => {
    expect(verdicts(probes, { failure: 3, success: 1 })).toBe(expected);
  });

  it.each([
    ['the first probe of all fails', '-', '-'],
    ['it fails once soon after it was well', '+-', '++'],
    ['it fails for the third time in a row', '+---', '+++-'],
    ['it is well for the first time after it was not', '-+', '-+'],
    ['it is as before', '++', '++'],
  ])('has the thresholds of KubeFed for a fresh cluster: %s', (_case, probes, expected) => {
    expect(verdicts(probes, { failure: 3, success: 1 })).toBe(expected);
  });

  it('changes no more often than its thresholds let it, whatever the probes say', () => {
    const threshold = fc.integer({ min: 1, max: 5 });
    fc.assert(
      fc.property(
        fc.array(fc.boolean(), { maxLength: 80, size: 'max' }),
        threshold,
        threshold,
        (probes, failure, success) => {
          let verdict: ProbeVerdict | undefined;
          let sinceChange = 0;
          for (const isUp of probes) {
            const before = verdict?.up;
            verdict = judgeProbe(verdict, isUp, { failure, success });
            sinceChange += 1;
            if (before === undefined) sinceChange = 0;
            else if (verdict.up !== before) {
              expect(sinceChange).toBeGreaterThanOrEqual(verdict.up ? success : failure);
              sinceChange = 0;
            }
          }
        },
      ),
    );
  });

  it('needs as many successes as are asked for', () => {
    expect(verdicts('-+-++', { failure: 1, success: 2 })).toBe('----+');
  });
});
