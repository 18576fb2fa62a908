// A source that nobody here wrote, without a mouse and on a screen of 360 pixels.

import { approve, assert, checkWidth, go, main, ready, run, tabTo } from './harness.mjs';
import { Agent } from './mcp.mjs';
import { SOURCES } from './sources.mjs';

const PHONE = { width: 360, height: 640 };

await main(async (world, name) => {
  const source = SOURCES[name];
  assert.ok(source, `${name} is one of ${Object.keys(SOURCES)}`);
  const { read, form, params, text, mistake, changes } = source;
  const agent = await Agent.connect(world.origin);
  const page = await world.open();
  const content = page.getByRole('main');
  const focused = page.locator(':focus');

  await go(page, '/login');
  await tabTo(page, page.getByLabel('Or paste the link here'));
  await page.keyboard.insertText(world.link);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  await ready(page);
  await tabTo(page, page.getByRole('navigation').getByRole('link', { name: 'Operations' }));
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Operations' }).and(focused).waitFor();
  await tabTo(page, page.getByRole('searchbox'));
  await page.keyboard.type(read);
  await page.getByText('best match first, as agents get them').waitFor();
  await page.keyboard.press('ArrowDown');
  await page.getByRole('grid').and(focused).waitFor();
  const active = page.locator('[role=row].active');
  for (let count = 0; !(await active.innerText()).startsWith(read); count += 1) {
    assert.ok(count < 20, `${read} is not among the first`);
    await page.keyboard.press('ArrowDown');
  }
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: new RegExp(read) }).and(focused).waitFor();
  await ready(page);
  // Optional parameters are folded. Closed folds can be opened with the keyboard as well.
  for (const fold of await content.locator('details:not([open]) > summary').filter({ hasText: 'optional' }).all()) {
    await tabTo(page, fold);
    await page.keyboard.press('Enter');
  }
  for (const [label, value] of Object.entries(form)) {
    await tabTo(page, content.getByLabel(new RegExp(`^${label}`)).first());
    await page.keyboard.press('Control+A');
    await page.keyboard.insertText(value);
  }
  assert.deepEqual(JSON.parse(await page.getByLabel('Parameters as JSON').inputValue()), params);
  await page.keyboard.press('Control+Enter');
  await tabTo(page, page.getByRole('tab', { name: 'Table' }));
  for (const view of ['Tree', 'Raw']) {
    await page.keyboard.press('ArrowRight');
    await page.getByRole('tab', { name: view, selected: true }).and(focused).waitFor();
  }
  await page.getByRole('tabpanel').getByText(text).first().waitFor();
  world.passed('an operation is found, filled in and run with the keyboard');

  const asked = await agent.call(changes.family, changes.operation, changes.params[0]);
  await tabTo(page, page.getByRole('navigation').getByRole('link', { name: /^Approvals/ }));
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Approvals' }).and(focused).waitFor();
  await tabTo(page, content.getByRole('link', { name: changes.operation, exact: true }).first());
  await page.keyboard.press('Enter');
  // The heading is the question, which need not name the operation.
  await page.getByRole('heading', { level: 1, name: /\?/ }).and(focused).waitFor();
  await content.getByRole('link', { name: changes.operation, exact: true }).first().waitFor();
  await page.keyboard.press('End');
  await page.locator('button:enabled', { hasText: 'Approve once' }).waitFor();
  await tabTo(page, page.getByRole('button', { name: 'Approve once' }));
  await page.keyboard.press('Enter');
  await page.getByText(/^Approved by admin/).waitFor();
  const { confirmation_token } = asked.error.details;
  const done = await agent.call(changes.family, changes.operation, { ...changes.params[0], confirmation_token });
  assert.equal(done.success, true, JSON.stringify(done));
  world.passed('a call is approved with the keyboard');

  const waiting = await agent.call(changes.family, changes.operation, changes.params[1]);
  const { approval_id: id } = waiting.error.details;
  const phone = await world.open({ session: await world.session(page), viewport: PHONE, hasTouch: true });
  const { entries } = await (await world.ask(phone, `/api/audit?operation=${changes.operation}`)).json();
  const request = encodeURIComponent(entries.find((entry) => entry.request_id).request_id);
  const pages = [
    '/', '/operations', `/operations/${read}`, `/operations/${changes.operation}`, '/try', '/schema', '/approvals', `/approvals/${id}`,
    '/review', '/audit', `/audit/${request}`, '/live', '/settings',
  ];
  if (source.table) pages.push(`/schema/${source.table}`);
  for (const path of pages) {
    await go(phone, path);
    await checkWidth(phone, path);
  }
  const runWith = async (operation, given) => {
    await go(phone, `/operations/${operation}?params=${encodeURIComponent(JSON.stringify(given))}`);
    return run(phone);
  };
  assert.equal((await runWith(read, params)).success, true);
  for (const view of ['Table', 'Tree', 'Raw']) {
    await phone.getByRole('tab', { name: view }).tap();
    await phone.getByRole('tab', { name: view, selected: true }).waitFor();
    await checkWidth(phone, `${read}, ${view}`);
  }
  assert.equal((await runWith(mistake.operation, mistake.params)).success, false);
  await checkWidth(phone, 'an error');
  await go(phone, `/approvals/${id}`);
  await approve(phone);
  await checkWidth(phone, 'a decided approval');
  world.passed('nothing is wider than 360 pixels, and a call is approved there');
});
