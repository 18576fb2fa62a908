// Another program on the same host serves pages on its own port, to the same browser. Browsers share cookies between ports, so
// it sees and sets them all. It gets no further than somebody without a session.

import { createServer } from 'node:http';

import { approve, assert, go, main, ready } from './harness.mjs';
import { Agent } from './mcp.mjs';

const READS = ['/api/session', '/api/overview', '/api/operations', '/api/approvals', '/api/audit', '/api/settings', '/api/events'];

/** Everything that a page can try against another origin. `target` is the explorer. */
const ATTACK = `async (target) => {
  const seen = [];
  const note = (name, value) => seen.push([name, String(value)]);
  for (const path of ['/', '/api', '/api/session']) {
    for (const name of ['aquifer_session_' + new URL(target).port, 'aquifer_session_', 'x-aquifer-session', 'aquifer.session']) {
      document.cookie = name + '=' + 'a'.repeat(64) + '; path=' + path;
    }
  }
  for (const mode of ['cors', 'no-cors']) {
    for (const headers of [{}, { 'x-aquifer-session': 'a'.repeat(64) }]) {
      await fetch(target + '/api/overview', { mode, headers, credentials: 'include' })
        .then((answer) => answer.text()).then((text) => note('fetch', text), () => null);
    }
  }
  await new Promise((resolve) => {
    const events = new EventSource(target + '/api/events', { withCredentials: true });
    events.addEventListener('hello', (event) => { note('events', event.data); resolve(); });
    events.addEventListener('error', () => { events.close(); resolve(); });
  });
  const frame = document.createElement('iframe');
  frame.src = target + '/approvals';
  await new Promise((resolve) => { frame.onload = resolve; frame.onerror = resolve; document.body.append(frame); });
  try { note('frame', frame.contentWindow.localStorage.length); } catch { }
  const popup = window.open(target + '/approvals');
  try {
    // Until the page has arrived, the window shows an empty page of the attacker's own. Afterwards it is out of reach.
    while (!popup.closed && popup.location.href === 'about:blank') await new Promise((resolve) => setTimeout(resolve, 20));
    note('popup', popup.closed ? '' : JSON.stringify(popup.localStorage));
  } catch { }
  return seen.filter(([, text]) => text !== '' && text !== 'null');
}`;

await main(async (world) => {
  const { origin } = world;
  const received = [];
  const attacker = createServer((request, response) => {
    received.push(request.headers);
    response.setHeader('content-type', 'text/html');
    response.setHeader('set-cookie', ['theirs=1; Path=/', `aquifer_session_${new URL(origin).port}=${'b'.repeat(64)}; Path=/api`]);
    // Removes the cookies of the host, and no more than its own origin's storage.
    if (request.url === '/clear') response.setHeader('clear-site-data', '"cookies", "storage"');
    response.end('<!doctype html><title>x</title><link rel="icon" href="data:,"><body>');
  });
  await new Promise((resolve) => attacker.listen(0, '127.0.0.1', resolve));
  const elsewhere = `http://127.0.0.1:${attacker.address().port}`;

  const agent = await Agent.connect(origin);
  const { error } = await agent.call('execute', 'execute_newsletter', { subject: 'Tents', body: 'All week.', country: 'Germany' });
  const { approval_id: id } = error.details;
  const page = await world.login();
  await go(page, `/approvals/${id}`);

  // What the browser sends to another port of the host, and with every header that is known.
  const foreign = await page.context().newPage();
  await world.expectProblem(/./, async () => {
    await foreign.goto(`${elsewhere}/`);
    await replay();
    assert.deepEqual(await foreign.evaluate(`(${ATTACK})(${JSON.stringify(origin)})`), []);
    await foreign.goto(`${elsewhere}/again`);
    await replay();
    await foreign.goto(`${elsewhere}/clear`);
    await foreign.close();
  });
  attacker.close();
  world.passed('a program on another port gets nothing from the browser that opens a door');

  // The person notices nothing of it: after a reload, in a new tab, and in the stream of events.
  await page.reload();
  await ready(page);
  const tab = await page.context().newPage();
  await go(tab, '/approvals');
  await tab.getByRole('heading', { name: 'Waiting (1)' }).waitFor();
  await tab.locator('#status[data-status="live"]').waitFor();
  await approve(page);
  await tab.getByRole('heading', { name: 'Waiting (0)' }).waitFor();
  assert.deepEqual((await page.context().cookies(origin)).filter(({ name }) => name !== 'theirs' && !name.startsWith('aquifer_session')), []);
  world.passed('planted and removed cookies change nothing for the person');

  await world.expectProblem(/401/, async () => {
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.waitForURL('**/login');
    assert.equal(await page.evaluate(() => localStorage.getItem('aquifer.session')), null);
    await tab.waitForURL('**/login?next=*');
    await page.context().close();
  });
  world.passed('signing out ends the session in every tab');

  /** The program repeats what it received, with the headers of the page. */
  async function replay() {
    for (const { cookie = '' } of received.splice(0)) {
      const values = cookie.split(/[=;] ?/);
      for (const value of new Set([cookie, ...values])) {
        const headers = { cookie, 'x-aquifer-explorer': '1', 'x-aquifer-session': value, 'content-type': 'application/json' };
        for (const path of READS) {
          const { status } = await fetch(`${origin}${path}`, { headers });
          assert.equal(status, 401, `GET ${path}`);
        }
        const decision = { method: 'POST', headers, body: JSON.stringify({ decision: 'deny', reason: 'theirs' }) };
        assert.equal((await fetch(`${origin}/api/approvals/${id}`, decision)).status, 401);
      }
    }
  }
});
