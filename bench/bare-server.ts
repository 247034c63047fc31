import { createSecureServer, type ServerHttp2Stream } from 'node:http2';
import { DatabaseSync } from 'node:sqlite';
import { createCertificateAuthority } from '../src/kube/pki.ts';
import { systemRuntime } from '../src/runtime/index.ts';

/**
 * The least that any server must do in this place, as a process of its own: HTTP/2 over TLS, a row of SQLite with FULL sync for
 * each write, the stored bytes for each read, and a line to each watcher for each change. No access control, no validation, no
 * patches but of `data`. What a real server is held against where there is no other one.
 *
 * `node bench/bare-server.ts <port> <database file>`
 */
const [port = '0', file = ':memory:'] = process.argv.slice(2);
const database = new DatabaseSync(file);
database.exec(
  'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE IF NOT EXISTS objects (path TEXT PRIMARY KEY, body BLOB)',
);
const put = database.prepare('INSERT OR REPLACE INTO objects VALUES (?, ?)');
const objects = new Map<string, Buffer>();
const watchers = new Set<{ readonly stream: ServerHttp2Stream; readonly path: string }>();
const LISTED = '/api/v1/namespaces/default/configmaps/listed-';

const { certificate, key } = await createCertificateAuthority(systemRuntime(), 'bare');
const server = createSecureServer({ cert: certificate, key });

server.on('stream', (stream, headers) => {
  const url = headers[':path'] ?? '/';
  const query = url.indexOf('?');
  const path = query < 0 ? url : url.slice(0, query);
  stream.on('error', () => undefined); // a client that went away
  if (headers[':method'] === 'GET') read(stream, path, url);
  else write(stream, path);
});

function read(stream: ServerHttp2Stream, path: string, url: string): void {
  stream.respond({ ':status': 200, 'content-type': 'application/json' });
  if (url.includes('watch=1')) {
    const watcher = { stream, path: `${path}/${decodeURIComponent(url).split('metadata.name=')[1] ?? ''}` };
    watchers.add(watcher);
    stream.on('close', () => watchers.delete(watcher));
    return;
  }
  if (!url.includes('labelSelector')) {
    stream.end(objects.get(path) ?? '{}');
    return;
  }
  const items = [...objects].filter(([name]) => name.startsWith(LISTED)).map(([, body]) => body.toString());
  stream.end(`{"items":[${items.join(',')}]}`);
}

function write(stream: ServerHttp2Stream, path: string): void {
  const chunks: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  stream.on('end', () => {
    const given = Buffer.concat(chunks);
    const name = /"name":"([^"]+)"/.exec(given.toString('latin1', 0, 200))?.[1];
    const target = path.endsWith('configmaps') && name !== undefined ? `${path}/${name}` : path;
    const body = merged(objects.get(target), given);
    put.run(target, body);
    objects.set(target, body);
    stream.respond({ ':status': 200, 'content-type': 'application/json' });
    stream.end(body);
    const event = Buffer.from(`{"type":"MODIFIED","object":${body.toString()}}\n`);
    for (const watcher of watchers) if (watcher.path === target) watcher.stream.write(event);
  });
}

/** A change is shown with the whole object, as watchers get it. */
function merged(before: Buffer | undefined, given: Buffer): Buffer {
  if (before === undefined) return given;
  const object = JSON.parse(before.toString()) as { data?: object };
  const { data } = JSON.parse(given.toString()) as { data?: object };
  return Buffer.from(JSON.stringify({ ...object, data: { ...object.data, ...data } }));
}

server.listen(Number(port), '127.0.0.1');
