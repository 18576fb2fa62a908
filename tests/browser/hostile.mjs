// Names, values, errors and addresses that try to be more than text. The database is that of
// crates/aquifer/tests/browser/hostile.rs.

import { assert, go, main, ready } from './harness.mjs';
import { Agent } from './mcp.mjs';

const TEXT = '<svg onload=alert(3)>\u202etxt.exe\u0007\u200b</textarea><script>alert(4)</script>';
const MARKUP = '<svg onload=alert(3)>';

// What must not reach the screen as it is.
const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
const FOREIGN = 'svg[onload], img:not([src="/favicon.svg"]), script:not([src]), b, iframe, object, embed, [onerror], [onmouseover], a[href^="javascript:" i], a[href^="data:" i]';

await main(async (world) => {
  const agent = await Agent.connect(world.origin, TEXT);
  const page = await world.login();
  const content = page.getByRole('main');

  /** Everything that is shown is text, and nothing in it is hidden. */
  const check = async (name) => {
    const found = await page.evaluate((selector) => {
      const spoken = ['aria-label', 'title', 'alt', 'placeholder', 'summary'];
      const attributes = [...document.querySelectorAll('*')].flatMap((element) => spoken.map((name) => element.getAttribute(name) ?? ''));
      return {
        text: document.documentElement.innerText + document.title,
        attributes: attributes.join('\n'),
        elements: [...document.querySelectorAll(selector)].map((element) => element.outerHTML.slice(0, 200)),
      };
    }, FOREIGN);
    assert.deepEqual(found.elements, [], name);
    for (const part of ['text', 'attributes']) {
      const at = found[part].search(HIDDEN);
      assert.equal(at, -1, `${name}: a hidden character in ${part}: ${JSON.stringify(found[part].slice(Math.max(0, at - 60), at + 20))}`);
    }
    world.check();
    return found.text;
  };
  const visit = async (path) => {
    await go(page, path);
    return check(path);
  };
  const run = async (operation, params) => {
    await go(page, `/operations/${encodeURIComponent(operation)}?params=${encodeURIComponent(JSON.stringify(params))}`);
    const answered = page.waitForResponse((response) => response.url().endsWith('/api/run'));
    await page.getByRole('button', { name: /^Run/ }).first().click();
    const { response } = await (await answered).json();
    await page.locator('.output:not([aria-busy]) .result').waitFor();
    return response;
  };

  const { sources } = await (await world.ask(page, '/api/tables')).json();
  const { operations } = await (await world.ask(page, '/api/operations')).json();
  const tables = sources.flatMap((source) => source.tables);
  assert.equal(tables.length, 2, JSON.stringify(tables));
  assert.match(JSON.stringify(tables), /alert\(2\)|alert_2/);
  for (const path of ['/', '/operations', '/schema', '/try', '/settings', '/review']) await visit(path);
  for (const { name } of tables) await visit(`/schema/${encodeURIComponent(name)}`);
  for (const { name } of operations) await visit(`/operations/${encodeURIComponent(name)}`);
  assert.ok((await visit('/')).includes(MARKUP), 'the name of the client');
  world.passed('names are shown as text');

  for (const table of tables) {
    const list = table.operations.find((name) => name.startsWith('list_'));
    const answer = await run(list, {});
    assert.equal(answer.success, true, JSON.stringify(answer));
    for (const view of ['Table', 'Tree', 'Raw']) {
      await page.getByRole('tab', { name: view }).click();
      // Parts of a tree are drawn when they are opened.
      await page.waitForFunction((markup) => {
        document.querySelectorAll('[role="tabpanel"] details:not([open])').forEach((closed) => (closed.open = true));
        const shown = document.documentElement.innerText;
        return shown.includes(markup) && shown.includes('javascript:alert(');
      }, MARKUP);
      const text = await check(`${list}, ${view}`);
      assert.ok(text.includes(MARKUP) && text.includes('javascript:alert('), `${view} of ${list} shows the values`);
    }
    const graph = page.getByRole('tab', { name: 'Graph' });
    if ((await graph.count()) > 0) {
      await graph.click();
      await page.getByRole('group', { name: /^Graph of/ }).waitFor();
      await check(`${list}, Graph`);
    }
    await page.getByText('Messages', { exact: true }).click();
    await page.getByRole('region', { name: '3. Returned by the source' }).first().waitFor();
    assert.ok((await check(`${list}, messages`)).includes(MARKUP), `the messages of ${list}`);
    for (const params of [{ group_by: ['id'] }, { aggregate: { [TEXT]: { group_by: 'id', count: true } } }, { [TEXT]: TEXT }, { filter: { [TEXT]: TEXT } }]) {
      await run(list, params);
      await check(`${list} ${JSON.stringify(params)}`);
    }
  }
  world.passed('values are shown as text');

  const update = tables.flatMap((table) => table.operations).find((name) => name === 'update_note');
  const failed = await run(update, { id: TEXT, input: { body: TEXT } });
  assert.equal(failed.success, false, JSON.stringify(failed));
  await check('a failed update');
  await go(page, '/live');
  await page.getByRole('banner').getByText('live', { exact: true }).waitFor();
  for (const name of [TEXT, '<script>alert(1)</script>', 'javascript:alert(1)']) await agent.call('read', name, { [TEXT]: TEXT });
  await content.getByText(/of 3 calls shown/).waitFor();
  assert.ok((await check('live')).includes('<script>alert(1)</script>'));
  world.passed('errors and live calls are shown as text');

  const asked = await agent.call('delete', 'delete_note', { id: TEXT });
  const { approval_id: id } = asked.error.details;
  assert.ok((await visit('/approvals')).includes(MARKUP));
  const shown = await visit(`/approvals/${id}`);
  assert.ok(shown.includes(MARKUP) && /U\+202E|\\u202e/i.test(shown), shown);
  await page.getByRole('button', { name: 'Deny…' }).click();
  await page.getByRole('dialog').getByLabel('Reason').fill(TEXT);
  await page.getByRole('dialog').getByRole('button', { name: 'Deny', exact: true }).click();
  await content.getByText(/^Denied by admin/).waitFor();
  await check('a denied approval');
  await visit('/approvals');
  await visit('/audit');
  for (const toggle of await content.getByRole('button', { name: /: all fields$/ }).all()) await toggle.click();
  await check('all audit entries');
  world.passed('approvals and the audit log are shown as text');

  const address = encodeURIComponent(TEXT);
  await world.expectProblem(/404/, async () => {
    for (const path of [`/operations/${address}`, `/approvals/${address}`]) await visit(path);
  });
  for (const path of [
    `/schema/${address}`, `/audit/${address}`, `/${address}`, `/operations?search=${address}&source=${address}&danger=${address}`,
    `/operations/list_notes?params=${address}`, `/audit?operation=${address}&outcome=${address}`, `/live?q=${address}&outcome=${address}`,
    `/schema?q=${address}&columns=${address}&source=${address}`, `/try?request=${encodeURIComponent(JSON.stringify({ operation: TEXT, params: { [TEXT]: TEXT } }))}`,
  ]) {
    await visit(path);
  }
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.waitForURL('**/login');
  for (const next of ['javascript:alert(1)', '//evil.example', '/\\evil.example', 'http://evil.example', TEXT]) {
    await page.goto(`/login?next=${encodeURIComponent(next)}`);
    await ready(page);
    await check(`/login?next=${next}`);
  }
  world.passed('addresses are shown as text');
});
