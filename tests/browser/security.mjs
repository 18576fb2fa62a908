// What the server refuses, asked with plain requests, and which headers restrict the pages.

import { request as httpRequest } from 'node:http';

import { assert, main } from './harness.mjs';

const API = [
  '/api/session', '/api/overview', '/api/operations', '/api/operations?search=orders', '/api/operations/list_orders', '/api/tables',
  '/api/approvals', '/api/approvals/none', '/api/audit', '/api/events', '/api/review', '/api/settings', '/api/call-log', '/api/call-log/none', '/api/nothing',
];
const CHANGES = [
  ['POST', '/api/run'], ['POST', '/api/approvals/none'], ['POST', '/api/approvals/none/edit'], ['POST', '/api/call-log'], ['DELETE', '/api/call-log'], ['POST', '/api/audit/verify'], ['POST', '/api/review'],
  ['POST', '/api/rules/preview'], ['POST', '/api/rules/apply'], ['DELETE', '/api/session'],
];
const PAGES = ['/', '/index.html', '/app.js', '/style.css', '/favicon.svg', '/operations', '/operations/list_orders', '/login', '/approvals', '/nothing'];

const POLICY = {
  'default-src': "'none'", 'script-src': "'self'", 'style-src': "'self'", 'img-src': "'self' data:", 'connect-src': "'self'",
  'font-src': "'none'", 'base-uri': "'none'", 'form-action': "'none'", 'frame-ancestors': "'none'", 'require-trusted-types-for': "'script'",
};
const HEADERS = {
  'x-frame-options': 'DENY', 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin', 'cross-origin-resource-policy': 'same-origin',
};

await main(async (world) => {
  const { origin, token } = world;

  /** One request, with exactly these headers. */
  const ask = (method, path, headers = {}, body) => new Promise((resolve, reject) => {
    const request = httpRequest(`${origin}${path}`, { method, headers: { ...(body && { 'content-type': 'application/json' }), ...headers }, agent: false });
    request.on('error', reject);
    request.on('response', (response) => {
      const answer = { status: response.statusCode, headers: response.headers, text: '' };
      // The stream of events has no end.
      if (response.headers['content-type'] === 'text/event-stream') {
        request.destroy();
        resolve(answer);
        return;
      }
      response.setEncoding('utf8').on('data', (piece) => (answer.text += piece)).on('end', () => resolve(answer));
    });
    request.end(body && JSON.stringify(body));
  });
  const expect = async (status, method, path, headers, body) => {
    const answer = await ask(method, path, headers, body);
    assert.equal(answer.status, status, `${method} ${path} ${JSON.stringify(headers)}: ${answer.text}`);
    checkHeaders(answer, `${method} ${path}`);
    return answer;
  };

  for (const path of API) {
    const { text } = await expect(401, 'GET', path);
    assert.equal(JSON.parse(text).error.code, 'LOGIN_REQUIRED');
  }
  for (const [method, path] of CHANGES) await expect(401, method, path, {}, {});
  world.passed('the API answers nobody without a session');

  for (const wrong of ['', 'f'.repeat(64), `${token.slice(0, -1)}x`, 'x'.repeat(100_000)]) await expect(401, 'POST', '/api/session', {}, { token: wrong });
  for (const type of ['text/plain', 'application/x-www-form-urlencoded']) await expect(415, 'POST', '/api/session', { 'content-type': type }, { token });
  await expect(403, 'POST', '/api/session', { authorization: 'Bearer x' }, { token });
  await expectForbidden('POST', '/api/session', { origin: 'http://evil.example' }, { token });
  world.passed('wrong, foreign and incomplete logins are refused and leave the link valid');

  const login = await expect(200, 'POST', '/api/session', {}, { token });
  await expect(401, 'POST', '/api/session', {}, { token });
  const { secret } = JSON.parse(login.text);
  assert.match(secret, /^[0-9a-f]{64}$/);
  assert.equal(login.headers['set-cookie'], undefined);
  assert.equal(login.headers['cache-control'], 'no-store');
  world.passed('a link works once, and sets no cookie');

  const session = { 'x-aquifer-session': secret };
  const who = await expect(200, 'GET', '/api/session', session);
  assert.deepEqual(Object.keys(JSON.parse(who.text)).sort(), ['expires_at', 'person']);
  await expect(200, 'GET', '/api/events', session);
  for (const wrong of ['', `${secret} `.repeat(2), secret.toUpperCase(), secret.replace(/.$/, (last) => (last === '0' ? '1' : '0'))]) {
    await expect(401, 'GET', '/api/session', { 'x-aquifer-session': wrong });
  }
  for (const path of API) await expect(401, 'GET', path, { cookie: `x-aquifer-session=${secret}; aquifer_session_${new URL(origin).port}=${secret}` });
  await expect(404, 'GET', '/api/nothing', session);

  for (const foreign of [{ authorization: 'Bearer x' }, { authorization: '' }, { 'mcp-session-id': 'x' }, { 'mcp-protocol-version': '2025-06-18' }]) {
    for (const path of [...PAGES, ...API]) {
      await expect(403, 'GET', path, foreign);
      await expect(403, 'GET', path, { ...session, ...foreign });
    }
    for (const [method, path] of CHANGES) await expect(403, method, path, { ...session, ...foreign }, {});
  }
  world.passed('requests with the headers of MCP clients are refused everywhere');

  for (const foreign of ['http://evil.example', 'null', origin.replace('127.0.0.1', '127.0.0.1.evil.example'), origin.replace(/\d+$/, '1')]) {
    for (const path of [...PAGES, ...API]) await expectForbidden('GET', path, { ...session, origin: foreign });
    for (const [method, path] of CHANGES) await expectForbidden(method, path, { ...session, origin: foreign }, {});
  }
  for (const site of ['cross-site', 'same-site']) {
    for (const path of API) await expect(403, 'GET', path, { ...session, 'sec-fetch-site': site });
    for (const [method, path] of CHANGES) await expect(403, method, path, { ...session, 'sec-fetch-site': site }, {});
  }
  world.passed('requests of other origins are refused');

  for (const host of ['evil.example', `evil.example:${new URL(origin).port}`, '127.0.0.1.evil.example']) {
    for (const path of [...PAGES, ...API]) await expectForbidden('GET', path, { ...session, host });
  }
  world.passed('requests for other hosts are refused');

  for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) for (const path of PAGES) await expect(403, method, path, session);
  world.passed('pages can only be read');

  for (const path of PAGES) {
    const { headers, text } = await expect(200, 'GET', path);
    assert.match(headers['content-type'], /^(text\/html|text\/javascript|text\/css|image\/svg\+xml)/);
    assert.equal((await ask('GET', path, { 'if-none-match': headers.etag })).status, 304);
    if (headers['content-type'].startsWith('text/html')) assert.doesNotMatch(text, /<script(?! (type="module" )?src=)| on\w+=|style=|https?:/);
  }
  for (const path of ['/nothing.js', '/../Cargo.toml', '/%2e%2e/Cargo.toml', '/ui/app.js', '/lib/', '/lib/../../Cargo.toml']) {
    const { status, text } = await ask('GET', path);
    assert.ok(status === 404 || (status === 200 && text.startsWith('<!doctype html>')), `${path}: ${status} ${text.slice(0, 80)}`);
  }
  world.passed('pages are served with a policy that allows only their own files');

  await expect(204, 'DELETE', '/api/session', session);
  for (const path of API) await expect(401, 'GET', path, session);
  world.passed('a session that was ended is over');

  /** Refused before the pages are asked, so without their headers. */
  async function expectForbidden(method, path, headers, body) {
    const { status, text } = await ask(method, path, headers, body);
    assert.ok(status === 403, `${method} ${path} ${headers.origin ?? headers.host}: ${status} ${text}`);
    assert.doesNotMatch(text, /<html|"operations"|"person"/);
  }
});

function checkHeaders({ headers }, name) {
  for (const [key, value] of Object.entries(HEADERS)) assert.equal(headers[key], value, `${key} of ${name}`);
  const policy = headers['content-security-policy'].split(';').map((directive) => directive.trim().split(/ (.*)/).slice(0, 2));
  assert.deepEqual(Object.fromEntries(policy), POLICY, name);
  assert.equal(headers['access-control-allow-origin'], undefined);
}
