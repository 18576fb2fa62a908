// The same without a mouse, and on a screen of 320 pixels.

import { assert, checkWidth, go, main, ready, tabTo as tab } from './harness.mjs';
import { Agent } from './mcp.mjs';

await main(async (world) => {
  const page = await world.open();
  const focused = page.locator(':focus');
  const tabTo = (target) => tab(page, target);

  await go(page, '/login');
  await tabTo(page.getByLabel('Or paste the link here'));
  await page.keyboard.insertText(world.link);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  await ready(page);
  world.passed('log in');

  await page.keyboard.press('Tab');
  await page.getByRole('link', { name: 'Skip to content' }).and(focused).waitFor();
  await tabTo(page.getByRole('navigation').getByRole('link', { name: 'Operations' }));
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Operations' }).and(focused).waitFor();
  await tabTo(page.getByRole('searchbox'));
  await page.keyboard.type('list_orders');
  await page.getByText('best match first, as agents get them').waitFor();
  await page.keyboard.press('ArrowDown');
  await page.getByRole('grid').and(focused).waitFor();
  const active = page.locator('[role=row].active');
  for (let count = 0; !(await active.innerText()).startsWith('list_orders'); count += 1) {
    assert.ok(count < 20, 'list_orders is not among the first');
    await page.keyboard.press('ArrowDown');
  }
  assert.equal(await active.getAttribute('id'), await page.getByRole('grid').getAttribute('aria-activedescendant'));
  await page.keyboard.press('Space');
  await page.getByText('1 selected').waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: /list_orders/ }).and(focused).waitFor();
  world.passed('find an operation');

  await tabTo(page.getByLabel('Parameters as JSON'));
  await page.keyboard.press('Control+A');
  await page.keyboard.insertText('{"first": 3}');
  await page.keyboard.press('Control+Enter');
  await page.getByRole('region', { name: 'Rows' }).waitFor();
  await tabTo(page.getByRole('tab', { name: 'Table' }));
  for (const name of ['Graph', 'Tree']) {
    await page.keyboard.press('ArrowRight');
    await page.getByRole('tab', { name, selected: true }).and(focused).waitFor();
  }
  world.passed('run it');

  const agent = await Agent.connect(world.origin);
  const params = { subject: 'Tents', body: 'All week.\n'.repeat(60), country: 'Germany' };
  const asked = await agent.call('execute', 'execute_newsletter', params);
  await tabTo(page.getByRole('navigation').getByRole('link', { name: /^Approvals/ }));
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Approvals' }).and(focused).waitFor();
  await tabTo(page.getByRole('link', { name: 'execute_newsletter', exact: true }));
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: /^Send the newsletter/ }).and(focused).waitFor();
  const approve = page.getByRole('button', { name: 'Approve once' });
  assert.equal(await approve.isDisabled(), true, 'a long call is approved only after it was read');
  await page.keyboard.press('End');
  await page.locator('button:enabled', { hasText: 'Approve once' }).waitFor();
  await tabTo(approve);
  await page.keyboard.press('Enter');
  await page.getByText(/^Approved by admin/).waitFor();
  const sent = await agent.call('execute', 'execute_newsletter', { ...params, confirmation_token: asked.error.details.confirmation_token });
  assert.equal(sent.data?.sent, true, JSON.stringify(sent));
  world.passed('approve a call');

  const denied = await agent.call('execute', 'execute_newsletter', { ...params, subject: 'Stoves' });
  await go(page, `/approvals/${denied.error.details.approval_id}`);
  await tabTo(page.getByRole('button', { name: 'Deny…' }));
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').getByLabel('Reason').and(focused).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Deny…' }).and(focused).waitFor();
  world.passed('leave a dialog');

  const narrow = await world.open({ session: await world.session(page), viewport: { width: 320, height: 640 } });
  const { entries } = await (await world.ask(narrow, '/api/audit')).json();
  const pages = [
    '/', '/operations', '/operations/list_orders', '/operations/create_ticket', '/try', '/schema', '/schema/orders', '/approvals',
    `/approvals/${denied.error.details.approval_id}`, '/review', '/audit', `/audit/${encodeURIComponent(entries[0].request_id ?? 'none')}`, '/live', '/settings',
  ];
  for (const path of pages) {
    await go(narrow, path);
    await checkWidth(narrow, path);
  }
  await go(narrow, '/operations/list_orders');
  await narrow.getByRole('button', { name: /^Run/ }).click();
  await narrow.getByRole('region', { name: 'Rows' }).waitFor();
  await checkWidth(narrow, 'a result');
  await narrow.getByRole('button', { name: 'Menu' }).click();
  await narrow.getByRole('navigation').getByRole('link', { name: 'Live' }).click();
  await narrow.getByRole('heading', { level: 1, name: 'Live' }).waitFor();
  await checkWidth(narrow, 'the menu');
  world.passed('nothing is wider than 320 pixels');
});
