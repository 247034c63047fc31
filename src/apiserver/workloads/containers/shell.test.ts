import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bytePipe } from '../../streams/byte-pipe.ts';
import { containerRig, sink, sourceOf } from './container.fixture.ts';
import { parseScript, ShellSyntaxError } from './shell-syntax.ts';

describe('the shell of a simulated container', () => {
  it.each([
    ['echo one; echo two', 'one\ntwo\n'],
    ['echo a  b "c  d" \'$X\' e\\ f', 'a b c  d $X e f\n'],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's own
    ['X=1; echo "$X${X}-${Y:-none}"', '11-none\n'],
    ['false || echo saved && echo on', 'saved\non\n'],
    ['true && false || echo $?', '1\n'],
    ['! false && echo yes', 'yes\n'],
    ['printf "b\\na\\nb\\n" | sort | uniq -c | wc -l', '2\n'],
    ['seq 5 | head -2 | tail -1', '2\n'],
    ['seq 100000 | head -1', '1\n'],
    ['echo x > /tmp/f; echo y >> /tmp/f; cat < /tmp/f', 'x\ny\n'],
    ['ls /none 2>&1 >/dev/null | cat', 'ls: /none: No such file or directory\n'],
    ['echo lost > /dev/null; echo kept', 'kept\n'],
    ['for i in 1 2 3; do echo -n $i; done; echo', '123\n'],
    ['if test -f /etc/hostname; then echo file; else echo none; fi', 'file\n'],
    ['i=x; while [ "$i" != xxx ]; do i=x$i; done; echo $i', 'xxx\n'],
    ['(cd /tmp; pwd); pwd', '/tmp\n/\n'],
    ['{ echo a; echo b; } | wc -l', '2\n'],
    ['echo "$(hostname) $(echo `pwd`)"', 'web-0 /\n'],
    ['cd /etc; echo host*', 'hostname hosts\n'],
    ['echo "*" \'?\' /none*', '* ? /none*\n'],
    ['set -e; export A=b; env | grep ^A=', 'A=b\n'],
    ['echo 1 2 | { read a b; echo $b$a; }', '21\n'],
    ['date -u +%FT%T', '2026-01-01T00:00:00\n'],
    ['date', 'Thu Jan  1 00:00:00 UTC 2026\n'],
    ['id; whoami; uname -a', 'uid=0(root) gid=0(root) groups=0(root)\nroot\nLinux web-0 simulated x86_64\n'],
    ['tee /tmp/t < /etc/hostname; cat /tmp/t', 'web-0\nweb-0\n'],
    [
      'mkdir -p /a/b && touch /a/b/c && cp -r /a /z && mv /z/b/c /z/d && rm -r /a && ls /z && ls -d /z/b',
      'b\nd\n/z/b\n',
    ],
    ['ln -s /etc/hostname /tmp/l && cat /tmp/l', 'web-0\n'],
    ['which tar; command -v cd; type nope || echo $?', '/bin/tar\ncd\n127\n'],
    [
      'echo "echo in $1 $0" > /s.sh; sh /s.sh; echo \'echo got $1\' > /t.sh; sh /t.sh arg',
      'in sh\ngot arg\n',
    ],
    ['head -c 3 /etc/hostname; echo; tail -c +3 /etc/hostname', 'web\nb-0\n'],
  ])('runs %s', async (script, out) => {
    expect(await containerRig().sh(script)).toMatchObject({ out, err: '' });
  });

  it.each([
    ['exit 7', 7, ''],
    ['false', 1, ''],
    ['nope', 127, 'sh: nope: not found\n'],
    ['cat /nope', 1, 'cat: /nope: No such file or directory\n'],
    ['cat /etc', 1, 'cat: /etc: Is a directory\n'],
    ['echo x > /etc/conf/new', 1, "sh: can't create /etc/conf/new: Read-only file system\n"],
    ['echo )', 2, 'sh: syntax error: unexpected ")"\n'],
    ['sleep 1 &', 2, 'sh: background jobs are not simulated\n'],
    ['sleep x', 1, "sleep: invalid number 'x'\n"],
    ['while true; do :; done', 137, 'killed: a simulated container runs 100000 commands at most\n'],
  ])('fails as expected: %s', async (script, code, err) => {
    const rig = containerRig();
    const running = rig.sh(script);
    for (let turn = 0; turn < 1200 && code === 137; turn++) await rig.runtime.clock.advance(1);
    const ran = await running;
    expect([ran.code, ran.err]).toEqual([code, err]);
  });

  it('says what a runtime says where there is no such program', async () => {
    const { code, err } = await containerRig().run(['nope', 'x']);
    expect(code).toBe(127);
    expect(err).toContain('exec: "nope": executable file not found in $PATH: unknown');
  });

  it('has the environment and the volumes that the pod asks for', async () => {
    const { sh } = containerRig();
    expect((await sh('echo $COLOUR $IP $BOTH $CORES $KEY_token $HOSTNAME')).out).toBe(
      'red 10.244.0.9 red-10.244.0.9-$(NONE) 2 s3cret web-0\n',
    );
    expect((await sh('cat /etc/conf/app.conf /etc/key/token /etc/podinfo/labels')).out).toBe(
      'a=1\nb=2\ns3cretapp="web"',
    );
    expect((await sh('echo kept > /scratch/x')).code).toBe(0);
    expect((await sh('cat /scratch/x; cat /etc/resolv.conf | head -1')).out).toBe(
      'kept\nsearch shop.svc.cluster.local svc.cluster.local cluster.local\n',
    );
  });

  it('keeps no more than it may', async () => {
    const { sh } = containerRig({}, 100_000);
    const filled = await sh('cat > /tmp/big', 'x'.repeat(120_000));
    expect(filled.err).toContain('No space left on device');
    const doubled = await sh(`X=${'y'.repeat(1000)}; ${'X=$X$X; '.repeat(12)} echo on`);
    expect(doubled).toMatchObject({ out: 'on\n', err: expect.stringContaining('argument list too long') });
    expect((await sh('rm /tmp/big; echo x > /tmp/small && cat /tmp/small')).out).toBe('x\n');
  });

  it('sleeps on the clock, and is killed with its container or when its client goes', async () => {
    const rig = containerRig();
    const slept = rig.sh('sleep 5; echo done');
    await rig.runtime.clock.advance(5_000);
    expect(await slept).toMatchObject({ out: 'done\n', code: 0 });
    const gone = new AbortController();
    const left = rig.run(['sleep', '100'], { signal: gone.signal });
    await rig.runtime.clock.settle();
    gone.abort();
    expect((await left).code).toBe(137);
    const waiting = rig.run(['cat'], { stdin: bytePipe() });
    rig.container.end();
    expect((await waiting).code).toBe(137);
  });

  it('talks on a terminal: prompts, echo, editing, Ctrl-C and Ctrl-D', async () => {
    const rig = containerRig();
    const keys = bytePipe();
    const screen = sink();
    const running = rig.run(['sh'], { stdin: keys, stdout: screen, tty: true });
    const type = async (text: string): Promise<void> => {
      await keys.write(Buffer.from(text));
      await rig.runtime.clock.settle();
    };
    await type('ecx\x7fho hi\r');
    expect(screen.text()).toBe('/ # ecx\b \bho hi\r\nhi\r\n/ # ');
    await type('sleep 100\r');
    await type('\x03');
    await type('echo $?\r');
    expect(screen.text()).toContain('^C\r\n/ # echo $?\r\n130\r\n');
    await type('cat\r');
    await type('line\r');
    await type('\x04');
    await type('cat\r');
    await type('\x03');
    await type('stty size; exit 4\r');
    expect(await running).toMatchObject({ code: 4 });
    expect(screen.text()).toMatch(/line\r\nline\r\n\/ # .*0 0\r\n$/s);
  });

  it('reads a script from its input where there is no terminal', async () => {
    const ran = await containerRig().run(['sh'], {
      stdin: sourceOf('X=1\nif true\nthen', ' echo $X\nfi\nexit 3\n'),
    });
    expect(ran).toMatchObject({ code: 3, out: '1\n' });
  });

  it('never fails in another way than with a syntax error, whatever the text', () => {
    const piece = fc.constantFrom(
      'a',
      ' ',
      '"',
      "'",
      '$',
      '(',
      ')',
      '{',
      '}',
      '|',
      '&',
      ';',
      '<',
      '>',
      '\n',
      'if',
      'do',
      '`',
      '\\',
      '=',
      '*',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        try {
          parseScript(pieces.join(''));
        } catch (error) {
          expect(error).toBeInstanceOf(ShellSyntaxError);
        }
      }),
      { numRuns: 500 },
    );
  });
});
