/**
 * Finds keys that occur twice in an object of a JSON text, which `JSON.parse` hides by keeping the last. The text must
 * be valid JSON. Paths are dotted with `[i]` for lists, as `spec.containers[0].name`.
 */
export function duplicateKeys(text: string, limit: number = 100): string[] {
  const found: string[] = [];
  /** One frame per open object or list: keys seen, the key or index where the scan is. */
  const frames: { keys: Set<string> | undefined; key: string; index: number }[] = [];
  let expectKey = false;
  let i = 0;
  while (i < text.length) {
    const code = text.charCodeAt(i);
    switch (code) {
      case 0x7b: // {
        frames.push({ keys: new Set(), key: '', index: 0 });
        expectKey = true;
        i++;
        break;
      case 0x5b: // [
        frames.push({ keys: undefined, key: '', index: 0 });
        expectKey = false;
        i++;
        break;
      case 0x7d: // }
      case 0x5d: // ]
        frames.pop();
        expectKey = false;
        i++;
        break;
      case 0x2c: {
        // ,
        const frame = frames[frames.length - 1];
        if (frame?.keys) expectKey = true;
        else if (frame) frame.index++;
        i++;
        break;
      }
      case 0x22: {
        // "
        let end = i + 1;
        let escaped = false;
        for (; end < text.length; end++) {
          const c = text.charCodeAt(end);
          if (c === 0x5c) {
            escaped = true;
            end++;
          } else if (c === 0x22) break;
        }
        if (expectKey) {
          const frame = frames[frames.length - 1];
          const raw = text.slice(i + 1, end);
          const key = escaped ? String(JSON.parse(`"${raw}"`)) : raw;
          if (frame?.keys) {
            frame.key = key;
            if (frame.keys.has(key)) {
              const path = pathOf(frames);
              if (found.length < limit && !found.includes(path)) found.push(path);
            } else frame.keys.add(key);
          }
          expectKey = false;
        }
        i = end + 1;
        break;
      }
      default:
        i++;
    }
  }
  return found;
}

function pathOf(frames: readonly { keys: Set<string> | undefined; key: string; index: number }[]): string {
  let path = '';
  for (const frame of frames) {
    if (frame.keys) path += path === '' ? frame.key : `.${frame.key}`;
    else path += `[${frame.index}]`;
  }
  return path;
}
