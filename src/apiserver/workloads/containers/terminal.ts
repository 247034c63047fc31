import type { ByteSink, ByteSource } from '../../streams/byte-pipe.ts';
import type { Terminal } from './process.ts';

/** Both ends of a terminal: what the user types comes out as lines, and what programs print goes to the user. */
export interface TerminalDevice extends Terminal {
  readonly input: ByteSource;
  readonly output: ByteSink;
  resize(columns: number, rows: number): void;
  /** There is nobody at the keyboard any more. */
  hangUp(): void;
}

const MAX_LINE = 4096;
/** Keys typed ahead of whoever reads them. */
const MAX_AHEAD = 64 * 1024;
const INTERRUPT = 0x03;
const END = 0x04;
const BACKSPACE = 0x08;
const LINE_FEED = 0x0a;
const RETURN = 0x0d;
const KILL_LINE = 0x15;
const ESCAPE = 0x1b;
const DELETE = 0x7f;

/**
 * A terminal in its usual mode: it echoes, lets the line be edited until Return, ends the input at Ctrl-D and interrupts
 * at Ctrl-C. `keys` come from the user, `screen` goes to him.
 */
export function terminalDevice(keys: ByteSource, screen: ByteSink): TerminalDevice {
  const size = { columns: 0, rows: 0 };
  /** Lines that are typed; `undefined` is an end of input. */
  let lines: (Uint8Array | undefined)[] = [];
  let ahead = 0;
  let line: number[] = [];
  let hung = false;
  let wake: (() => void) | undefined;
  /** How far an escape sequence has come: it is left out. */
  let sequence = '';

  const device: TerminalDevice = {
    size,
    onInterrupt: undefined,
    input: {
      async read() {
        while (lines.length === 0 && !hung)
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        wake = undefined;
        const next = lines.shift();
        ahead -= next?.byteLength ?? 0;
        return next;
      },
      cancel() {},
    },
    output: {
      write: (chunk) => screen.write(withReturns(chunk)),
      end() {},
    },
    resize(columns, rows) {
      size.columns = columns;
      size.rows = rows;
    },
    hangUp() {
      hung = true;
      wake?.();
    },
  };

  function deliver(): void {
    const bytes = Uint8Array.from(line);
    line = [];
    if (ahead + bytes.byteLength > MAX_AHEAD) return;
    ahead += bytes.byteLength;
    lines.push(bytes);
    wake?.();
  }

  /** What the user sees of a key. */
  function type(key: number): string {
    if (sequence !== '') {
      sequence += String.fromCharCode(key);
      const done = sequence.length === 2 ? key !== 0x5b && key !== 0x4f : key >= 0x40 && key <= 0x7e;
      if (done || sequence.length > 16) sequence = '';
      return '';
    }
    switch (key) {
      case ESCAPE:
        sequence = '\x1b';
        return '';
      case RETURN:
      case LINE_FEED:
        line.push(LINE_FEED);
        deliver();
        return '\r\n';
      case INTERRUPT:
        line = [];
        lines = [];
        ahead = 0;
        if (device.onInterrupt) {
          device.onInterrupt();
          // Whoever waits for a line learns in no other way that it is to end.
          if (wake) endInput();
        } else deliverNewline();
        return '^C\r\n';
      case END:
        if (line.length > 0) deliver();
        else endInput();
        return '';
      case KILL_LINE: {
        const erased = line.length;
        line = [];
        return '\b \b'.repeat(erased);
      }
      case BACKSPACE:
      case DELETE: {
        if (line.length === 0) return '';
        // A character of several bytes goes as one.
        while (((line.pop() ?? 0) & 0xc0) === 0x80);
        return '\b \b';
      }
      default:
        if ((key < 0x20 && key !== 0x09) || line.length >= MAX_LINE) return '';
        line.push(key);
        return String.fromCharCode(key);
    }
  }

  function endInput(): void {
    lines.push(undefined);
    wake?.();
  }

  /** Whoever reads begins with a new line. */
  function deliverNewline(): void {
    line = [LINE_FEED];
    deliver();
  }

  async function run(): Promise<void> {
    try {
      for (let chunk = await keys.read(); chunk !== undefined; chunk = await keys.read()) {
        let echo = '';
        for (const key of chunk) echo += type(key);
        if (echo !== '') await screen.write(Buffer.from(echo, 'latin1'));
      }
    } finally {
      device.hangUp();
    }
  }
  // Whatever went wrong with the screen: whoever reads learns that nobody types any more, and whoever writes what it was.
  run().catch(() => {});
  return device;
}

/** Screens want a return before each line feed. */
function withReturns(chunk: Uint8Array): Uint8Array {
  if (!chunk.includes(LINE_FEED)) return chunk;
  const out: number[] = [];
  for (const byte of chunk) {
    if (byte === LINE_FEED) out.push(RETURN);
    out.push(byte);
  }
  return Uint8Array.from(out);
}
