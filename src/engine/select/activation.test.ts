import { describe, expect, it } from 'vitest';
import { type Activation, stepActivation } from './index.ts';

describe('lazy activation', () => {
  function play(steps: readonly (readonly [generation: number, content: string])[]): boolean[] {
    let known: Activation | undefined;
    return steps.map(([generation, content]) => {
      const { holds, activation } = stepActivation(known, generation, content);
      known = JSON.parse(JSON.stringify(activation)) as Activation;
      return holds;
    });
  }

  it.each<[string, readonly (readonly [number, string])[], boolean[]]>([
    [
      'waits for the first change of what is there',
      [
        [1, 'x'],
        [1, 'x'],
        [1, 'y'],
        [1, 'y'],
      ],
      [true, true, false, false],
    ],
    [
      'is in force for objects that come later',
      [
        [1, ''],
        [1, 'x'],
        [1, 'z'],
      ],
      [true, false, false],
    ],
    [
      'holds an edit until the objects change',
      [
        [1, ''],
        [1, 'x'],
        [2, 'x'],
        [2, 'x'],
        [2, 'y'],
        [2, 'w'],
      ],
      [true, false, true, true, false, false],
    ],
    [
      'holds several edits as one',
      [
        [1, ''],
        [1, 'x'],
        [2, 'x'],
        [3, 'x'],
        [3, 'y'],
      ],
      [true, false, true, true, false],
    ],
    [
      'holds an edit that selects less, too',
      [
        [1, ''],
        [1, 'xy'],
        [2, 'x'],
        [2, 'x'],
        [2, 'z'],
      ],
      [true, false, true, true, false],
    ],
  ])('%s', (_what, steps, holds) => {
    expect(play(steps)).toEqual(holds);
  });
});
