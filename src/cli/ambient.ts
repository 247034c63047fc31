import { readFileSync } from 'node:fs';
import type { Ambient } from '../hub/credential/index.ts';
import type { Runtime } from '../runtime/runtime.ts';

const TIMEOUT_MS = 10_000;
const ANSWER_LIMIT = 1024 * 1024;

/** What this process is to a cloud: its environment, the files that name its identity, and a way to ask. */
export function processAmbient(runtime: Runtime): Ambient {
  return {
    env: (name) => process.env[name] || undefined,
    readFile: (path) => readFileSync(path, 'utf8'),
    async request({ method, url, headers, body }) {
      // Loaded when first used: few hubs have clusters of a cloud.
      const { request } = await import('undici');
      const abort = new AbortController();
      const timer = runtime.clock.after(TIMEOUT_MS, () =>
        abort.abort(new Error(`no answer within ${TIMEOUT_MS / 1000} s`)),
      );
      try {
        const answer = await request(url, {
          method,
          ...(headers === undefined ? {} : { headers }),
          ...(body === undefined ? {} : { body }),
          signal: abort.signal,
        });
        const chunks: Uint8Array[] = [];
        let size = 0;
        for await (const chunk of answer.body as AsyncIterable<Uint8Array>) {
          size += chunk.byteLength;
          if (size > ANSWER_LIMIT) throw new Error(`the answer is larger than ${ANSWER_LIMIT} bytes`);
          chunks.push(chunk);
        }
        return { status: answer.statusCode, body: Buffer.concat(chunks).toString('utf8') };
      } finally {
        timer.cancel();
      }
    },
  };
}
