import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { containerRig, sink, sourceOf } from './container.fixture.ts';
import { type ReadExactly, readTarEntry, type TarEntry, TarError, tarHeader } from './tar-archive.ts';

function readerOf(bytes: Uint8Array): ReadExactly {
  let at = 0;
  return async (count) => {
    at += count;
    return bytes.subarray(at - count, at);
  };
}

describe('archives of tar', () => {
  it('are read as they were written, long names too', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          kind: fc.constant('link' as const),
          path: fc.stringMatching(/^[a-zä/]{1,180}$/),
          target: fc.stringMatching(/^[a-zö/]{1,180}$/),
          mode: fc.integer({ min: 0, max: 0o7777 }),
          modifiedAt: fc.integer({ min: 0, max: 4_000_000_000 }).map((seconds) => seconds * 1000),
          size: fc.constant(0),
        }),
        async (entry: TarEntry) => {
          expect(await readTarEntry(readerOf(tarHeader(entry)))).toEqual(entry);
        },
      ),
    );
  });

  it('are refused where they are no archives', async () => {
    await expect(readTarEntry(readerOf(Buffer.alloc(512, 'x')))).rejects.toThrow(TarError);
    expect(await readTarEntry(readerOf(new Uint8Array(1024)))).toBeUndefined();
  });

  it('carry trees between containers, and never out of the directory', async () => {
    const from = containerRig();
    await from.sh('mkdir -p /d/e; echo one > /d/one; echo two > /d/e/two; chmod 600 /d/one; ln -s one /d/l');
    const archive = sink();
    const packed: Uint8Array[] = [];
    await from.run(['tar', 'cf', '-', '/d'], {
      stdout: { ...archive, write: async (chunk) => void packed.push(Uint8Array.from(chunk)) },
    });
    const to = containerRig();
    const parts = [...packed];
    const stdin = { read: async () => parts.shift(), cancel: () => {} };
    await to.sh('mkdir /x');
    expect(await to.run(['tar', '-xmf', '-', '-C', '/x'], { stdin })).toMatchObject({ code: 0, err: '' });
    expect((await to.sh('cat /x/d/one /x/d/e/two /x/d/l; ls -l /x/d/one')).out).toMatch(
      /^one\ntwo\none\n-rw-------/,
    );
    const evil = Buffer.concat([
      tarHeader({ kind: 'file', path: '../../etc/passwd', mode: 0, modifiedAt: 0, size: 0, target: '' }),
      new Uint8Array(1024),
    ]);
    const refused = await to.run(['tar', '-xf', '-', '-C', '/x'], {
      stdin: sourceOf(evil.toString('latin1')),
    });
    expect(refused).toMatchObject({ code: 1, err: "tar: name with '..' skipped: '../../etc/passwd'\n" });
  });
});
