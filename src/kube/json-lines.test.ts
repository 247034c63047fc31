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

/** A body of which each chunk is given by hand. */
function handBody(): { response: Response; give: (text: string) => void; fail: (error: Error) => void } {
  const asked: PromiseWithResolvers<IteratorResult<Uint8Array>>[] = [];
  const body: AsyncIterable<Uint8Array> = {
    [Symbol.asyncIterator]: () => ({
      next() {
        const answer = Promise.withResolvers<IteratorResult<Uint8Array>>();
        asked.push(answer);
        return answer.promise;
      },
      return: async () => ({ value: undefined, done: true }),
    }),
  };
  return {
    response: { status: 200, headers: {}, body },
    give: (text) => asked.shift()?.resolve({ value: Buffer.from(text), done: false }),
    fail: (error) => asked.shift()?.reject(error),
  };
}

it.each([
  ['a line comes', (body: ReturnType<typeof handBody>) => body.give('late\n')],
  ['its body breaks', (body: ReturnType<typeof handBody>) => body.fail(new Error('cancelled'))],
])('is over for a reader that leaves while it waits, also where %s then', async (_what, happens) => {
  const body = handBody();
  const stream = lines(body.response);
  const waiting = stream.next();
  await stream.return?.();
  happens(body);
  expect(await waiting).toEqual({ value: undefined, done: true });
  expect(await stream.next()).toEqual({ value: undefined, done: true });
});

it('waits for one line over any number of chunks, of which many are empty lines', async () => {
  const { response } = bodyOf([...Array.from({ length: 3_000 }, () => '\n'), ...'patience', '\nb\n']);
  const stream = lines(response);
  expect(await stream.next()).toEqual({ value: 'patience', done: false });
  expect(await stream.next()).toEqual({ value: 'b', done: false });
  const broken = lines(bodyOf(['a', 'b', new Error('reset')]).response);
  await expect(broken.next()).rejects.toThrow('reset');
});
