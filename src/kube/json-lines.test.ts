import { expect, it } from 'vitest';
import type { Response } from './exchange.ts';
import { decodedLines, lines } from './json-lines.ts';

/** A body that notes whether its reader left it. */
function bodyOf(
  chunks: readonly (string | Error)[],
  whenEmpty: () => void = () => {},
): { response: Response; left: () => boolean } {
  let left = false;
  const rest = [...chunks];
  const body: AsyncIterable<Uint8Array> = {
    [Symbol.asyncIterator]: () => ({
      async next() {
        const chunk = rest.shift();
        if (chunk === undefined) whenEmpty();
        if (chunk instanceof Error) throw chunk;
        return chunk === undefined
          ? { value: undefined, done: true }
          : { value: Buffer.from(chunk), done: false };
      },
      async return() {
        left = true;
        return { value: undefined, done: true };
      },
    }),
  };
  return { response: { status: 200, headers: {}, body }, left: () => left };
}

async function collect(stream: AsyncIterable<string>): Promise<string[]> {
  const out: string[] = [];
  for await (const line of stream) out.push(line);
  return out;
}

it('gives lines in order wherever chunks are cut, and the last one without its end', async () => {
  const { response, left } = bodyOf(['a\nb', 'b\n\nc', 'c\n', 'last']);
  const stream = lines(response);
  expect(await collect(stream)).toEqual(['a', 'bb', 'cc', 'last']);
  expect(await stream.next()).toEqual({ value: undefined, done: true });
  // What has ended need not be left.
  expect(left()).toBe(false);
  expect(await collect(lines({ status: 200, headers: {}, body: Buffer.from('x\ny\n') }))).toEqual(['x', 'y']);
});

it('leaves a body whose reader leaves, and gives nothing of it any more', async () => {
  const { response, left } = bodyOf(['a\nb\n', 'c\n']);
  const stream = lines(response);
  for await (const line of stream) if (line === 'a') break;
  expect(left()).toBe(true);
  expect(await stream.next()).toEqual({ value: undefined, done: true });
});

it('gives what came before a failure, then the failure once', async () => {
  const { response, left } = bodyOf(['a\n', new Error('reset')]);
  const stream = lines(response);
  expect(await stream.next()).toEqual({ value: 'a', done: false });
  await expect(stream.next()).rejects.toThrow('reset');
  expect(left()).toBe(true);
  expect(await stream.next()).toEqual({ value: undefined, done: true });
});

it('leaves a body with a line that cannot be decoded', async () => {
  const { response, left } = bodyOf(['1\nx\n', '2\n']);
  await expect(collect(decodedLines(response, (line) => String(JSON.parse(line))))).rejects.toThrow();
  expect(left()).toBe(true);
});

it('takes what fails after an abort for the end, and gives nothing after it', async () => {
  const stopping = new AbortController();
  const broken = bodyOf(['a\n', new Error('cancelled')]);
  const options = { signal: stopping.signal };
  const stream = decodedLines(broken.response, (line) => line, options);
  expect(await stream.next()).toEqual({ value: 'a', done: false });
  const pending = stream.next();
  stopping.abort();
  expect(await pending).toEqual({ value: undefined, done: true });

  const whole = bodyOf(['a\nb\n']);
  const stopped = decodedLines(whole.response, (line) => line, options);
  expect(await stopped.next()).toEqual({ value: undefined, done: true });
  expect(whole.left()).toBe(true);
});
