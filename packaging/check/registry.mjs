// A registry for npm that has only the given packages: registry.mjs FILE.tgz...
// It prints its address and ends when its standard input closes.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { basename } from 'node:path';

const files = new Map(process.argv.slice(2).map((path) => [basename(path), path]));
const manifests = new Map();
for (const [file, path] of files) {
  const manifest = JSON.parse(execFileSync('tar', ['-xzOf', path, 'package/package.json'], { encoding: 'utf8' }));
  const integrity = `sha512-${createHash('sha512').update(readFileSync(path)).digest('base64')}`;
  manifests.set(manifest.name, { manifest, file, integrity });
}

const server = createServer((request, response) => {
  const path = decodeURIComponent(request.url.slice(1));
  if (files.has(path)) return response.end(readFileSync(files.get(path)));
  const found = manifests.get(path);
  if (!found) return response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"Not found"}');
  const { manifest, file, integrity } = found;
  const tarball = `http://${request.headers.host}/${file}`;
  const versions = { [manifest.version]: { ...manifest, dist: { tarball, integrity } } };
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ name: manifest.name, 'dist-tags': { latest: manifest.version }, versions }));
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/`));
process.stdin.on('end', () => process.exit(0)).resume();
