// A person tries operations: the form and its JSON, tables, references, charts, corrections and confirmation.

import { approve, assert, checkAccessibility, go, heading, main, ready, screenshot, until } from './harness.mjs';

await main(async (world) => {
  const page = await world.login();
  const editor = page.getByLabel('Parameters as JSON');
  const params = async () => JSON.parse(await editor.inputValue());
  const run = async (button = page.getByRole('button', { name: 'Run', exact: false }).first()) => {
    const answered = page.waitForResponse((response) => response.url().endsWith('/api/run'));
    await button.click();
    const answer = await (await answered).json();
    await page.locator('.output:not([aria-busy]) .result').waitFor();
    return answer.response;
  };
  const rows = page.getByRole('region', { name: 'Rows' });
  const column = async (name) => {
    const heads = await rows.getByRole('columnheader').allInnerTexts();
    const index = heads.findIndex((head) => head.match(/^\w+/)?.[0] === name);
    assert.ok(index >= 0, `${name} of ${heads}`);
    return rows.locator(`tbody td:nth-child(${index + 1})`).allInnerTexts();
  };

  await go(page, '/operations/list_orders');
  await page.getByLabel('Items per page').fill('5');
  assert.deepEqual(await params(), { first: 5 });
  await page.getByText('Filter', { exact: true }).click();
  await page.getByRole('button', { name: 'Add condition' }).click();
  await page.getByLabel('Field', { exact: true }).fill('currency');
  await page.getByLabel('Field', { exact: true }).press('Tab');
  await page.getByRole('group', { name: 'All of these hold' }).getByLabel('Value', { exact: true }).selectOption('EUR');
  assert.match(await editor.inputValue(), /"currency"[^}]*"EUR"/);
  const first = await run();
  assert.equal(first.success, true, JSON.stringify(first));
  assert.equal(await rows.locator('tbody tr').count(), 5);
  assert.deepEqual(new Set(await column('currency')), new Set(['EUR']));
  await page.getByText('success', { exact: true }).waitFor();
  world.passed('a form is filled in, shown as JSON and run');

  await run(rows.getByRole('button', { name: 'total', exact: true }));
  await rows.locator('th[aria-sort="ascending"]').waitFor();
  const ascending = (await column('total')).map(Number);
  assert.deepEqual(ascending, [...ascending].sort((a, b) => a - b));
  await run(rows.getByRole('button', { name: /^total/ }));
  await rows.locator('th[aria-sort="descending"]').waitFor();
  assert.ok(Number((await column('total'))[0]) > ascending[0]);
  const before = await column('id');
  await run(page.getByRole('button', { name: 'Next page' }));
  const after = await column('id');
  assert.ok(before.every((id) => !after.includes(id)), `${before} and ${after}`);
  await page.getByRole('button', { name: 'Previous page' }).click();
  assert.deepEqual(await column('id'), before);
  world.passed('rows are sorted and paged by the server');

  await rows.getByRole('button', { name: 'Hide column currency' }).click();
  await run(page.getByRole('button', { name: 'Ask for these fields only' }));
  const { fields } = await params();
  assert.ok(fields.includes('id') && !fields.includes('currency'), String(fields));
  await screenshot(page, 'explorer-operation');
  await checkAccessibility(page, 'an operation with its result');
  const [customer] = await column('customer_id');
  const opened = page.waitForEvent('popup');
  await rows.getByRole('link', { name: customer, exact: true }).first().click();
  const other = await opened;
  await heading(other, /get_customer/);
  await other.getByRole('region', { name: 'Values' }).getByRole('row', { name: `id ${customer}`, exact: true }).waitFor();
  await other.close();
  world.passed('fields are chosen and a reference is followed');

  await go(page, `/operations/list_orders?params=${encodeURIComponent('{"first": 5, "fields": ["id", "customer_id", "total"]}')}`);
  await run();
  await page.getByText('Messages', { exact: true }).click();
  const message = (name) => page.getByRole('region', { name });
  await message('1. Received from the client').getByText('"list_orders"').waitFor();
  await message('2. Sent to the source').getByText(/SELECT.*FROM/s).waitFor();
  await message('3. Returned by the source').getByText(/customer_id/).waitFor();
  await message('4. Answered to the client').getByText('"success": true').waitFor();
  await checkAccessibility(page, 'the messages of a call');
  await page.getByText(/^instead of ≈ [\d,]+ tokens/).waitFor();
  await page.getByText(/^This session: .* instead of/).waitFor();
  world.passed('the messages of a call and its cost are shown');

  await page.getByRole('tab', { name: 'Graph' }).click();
  const graph = page.getByRole('group', { name: /^Graph of/ });
  const edges = await graph.locator('.diagram-edge').count();
  assert.equal(edges, 5);
  await page.getByText('The graph as a list').click();
  assert.equal(await page.locator('.record-graph li').count(), edges);
  await checkAccessibility(page, 'a graph of records');
  const followed = page.waitForEvent('popup');
  await graph.getByRole('link', { name: /^customers \d+/ }).first().focus();
  await page.keyboard.press('Enter');
  const record = await followed;
  await heading(record, /get_customer/);
  await record.getByRole('region', { name: 'Values' }).waitFor();
  await record.close();
  world.passed('records are drawn as a graph and followed with the keyboard');

  await go(page, '/operations/list_orders');
  await page.getByText('Aggregate', { exact: true }).click();
  await page.getByRole('button', { name: 'Add aggregate' }).click();
  await page.getByRole('button', { name: 'Group by' }).click();
  await page.getByLabel('Group by', { exact: true }).fill('status');
  await page.getByLabel('Group by', { exact: true }).press('Tab');
  const summed = await run();
  assert.equal(summed.success, true, JSON.stringify(summed));
  await page.getByRole('tab', { name: 'Chart', selected: true }).waitFor();
  assert.ok((await page.locator('svg.chart rect').count()) >= 5);
  await page.getByText('The numbers as a table').click();
  await page.getByRole('rowheader', { name: 'delivered' }).waitFor();
  await checkAccessibility(page, 'a chart');
  for (const name of ['Tree', 'Raw']) {
    await page.getByRole('tab', { name }).click();
    await page.getByRole('tabpanel').getByText('delivered').first().waitFor();
  }
  // Names of groups that are numbers, which JavaScript would sort.
  const largest = { aggregate: { orders: { group_by: 'customer_id', count: true, order: 'desc' } } };
  await go(page, `/operations/list_orders?params=${encodeURIComponent(JSON.stringify(largest))}`);
  await run();
  await page.getByText('The numbers as a table').click();
  const counts = (await page.getByRole('region', { name: 'Numbers of orders' }).locator('tbody td').allTextContents()).map(Number);
  assert.ok(counts.length > 10 && counts.every((count, i) => i === 0 || count <= counts[i - 1]), String(counts));
  world.passed('an aggregate is shown as a chart, a tree and text');

  await go(page, '/operations/list_orders');
  await editor.fill('{"filter": {"statsu": "paid"}, "first": 3}');
  const wrong = await run();
  assert.equal(wrong.success, false, JSON.stringify(wrong));
  await page.getByRole('alert').getByText(wrong.error.code, { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Replace statsu with status' }).click();
  await until('the name is replaced', async () => 'status' in ((await params()).filter ?? {}));
  assert.deepEqual((await params()).filter, { status: 'paid' });
  const corrected = await run();
  assert.equal(corrected.success, true, JSON.stringify(corrected));
  assert.deepEqual(new Set(await column('status')), new Set(['paid']));
  await editor.fill('{"first": 3,}');
  await page.getByRole('button', { name: /^Line 1, column/ }).waitFor();
  assert.equal(await editor.getAttribute('aria-invalid'), 'true');
  world.passed('an error is corrected by its suggestion');

  await go(page, `/operations/delete_tag?params=${encodeURIComponent('{"id": 3}')}`);
  assert.deepEqual(await params(), { id: 3 });
  const asked = await run();
  assert.equal(asked.error.code, 'CONFIRMATION_REQUIRED');
  await page.getByRole('heading', { name: 'Run this?' }).waitFor();
  await page.getByRole('alert').getByText(/Delete tag 3/).waitFor();
  const deleted = await run(page.getByRole('button', { name: 'Confirm and run' }));
  assert.equal(deleted.success, true, JSON.stringify(deleted));
  await go(page, `/operations/get_tag?params=${encodeURIComponent('{"id": 3}')}`);
  assert.match((await run()).error.code, /NOT_FOUND/);
  world.passed('deleting is confirmed');

  await go(page, '/operations/execute_newsletter');
  await editor.fill('{"subject": "Tents", "body": "All week.", "country": "Germany"}');
  assert.ok((await run()).error.details.approval_id);
  const approval = page.waitForEvent('popup');
  await page.getByRole('link', { name: 'Open the approval' }).click();
  const approver = await approval;
  await ready(approver);
  await approve(approver);
  await approver.close();
  const sent = await run(page.getByRole('button', { name: 'Run it, now that it is approved' }));
  assert.equal(sent.data?.sent, true, JSON.stringify(sent));
  world.passed('a call that needs an approval is approved and run');

  await go(page, '/try');
  const request = page.getByLabel('Request as JSON');
  await request.fill(JSON.stringify({ operations: [
    { operation: 'list_orders', params: { first: 1, fields: ['id', 'customer_id'] } },
    { operation: 'get_customer', params: { id: { $from: '0.data.items.0.customer_id' } } },
    { operation: 'get_tag', params: { id: 987654 } },
  ] }));
  const batch = await run();
  assert.deepEqual(batch.results.map(({ result }) => result.success), [true, true, false], JSON.stringify(batch));
  await page.getByText('1 get_customer').waitFor();
  await page.waitForURL(/987654/);
  await page.reload();
  await ready(page);
  assert.match(await request.inputValue(), /987654/);
  await page.getByRole('button', { name: /^3 operations: list_orders/ }).first().waitFor();
  await checkAccessibility(page, 'a batch');
  world.passed('a batch runs and is remembered');
});
