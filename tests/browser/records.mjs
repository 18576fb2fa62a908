// What happened and what is configured: audit, live calls, settings, review and the schema.

import { assert, go, heading, main, ready, screenshot } from './harness.mjs';
import { Agent } from './mcp.mjs';

await main(async (world) => {
  const agent = await Agent.connect(world.origin);
  const page = await world.login();
  const content = page.getByRole('main');

  await go(page, '/live');
  await content.getByText(/no calls|nothing|appear here/i).first().waitFor();
  await page.getByRole('banner').getByText('live', { exact: true }).waitFor();
  await agent.call('read', 'list_tags', {});
  const row = (name) => content.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
  await row('list_tags').getByText('ok', { exact: true }).waitFor();
  await row('list_tags').getByText(/^calls itself “.+” \(not verified\)$/).waitFor();
  await agent.call('read', 'get_tag', { id: 123456 });
  await row('get_tag').getByText('failed', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Pause' }).click();
  await agent.call('read', 'list_customers', { first: 1 });
  await page.getByRole('button', { name: 'Resume (1 new)' }).click();
  await row('list_customers').waitFor();
  await page.getByLabel('Outcome').selectOption('failed');
  await content.getByText('1 of 3 calls shown').waitFor();
  assert.equal(await content.getByRole('row').count(), 2);
  world.passed('calls are shown as they happen');

  await page.getByLabel('Outcome').selectOption('');
  const recording = content.getByRole('region', { name: 'Recording' });
  await recording.getByText('Messages are not recorded.').waitFor();
  await recording.getByRole('button', { name: 'Record the next 20 calls' }).click();
  await recording.getByText(/^The messages of the next 20 calls are recorded/).waitFor();
  await agent.call('read', 'list_products', { first: 2 });
  await row('list_products').getByRole('button', { name: /^Messages of request/ }).click();
  const dialog = page.getByRole('dialog', { name: 'Messages of list_products' });
  for (const step of ['Received from the client', 'Sent to the source', 'Returned by the source', 'Answered to the client']) {
    await dialog.getByRole('heading', { name: step }).first().waitFor();
  }
  await page.keyboard.press('Escape');
  await recording.getByRole('button', { name: 'Stop recording' }).click();
  await recording.getByText('Messages are not recorded.').waitFor();
  await agent.call('read', 'list_orders', { first: 1 });
  await row('list_orders').waitFor();
  assert.equal(await row('list_orders').getByRole('button').count(), 0);
  await go(page, '/');
  const clients = content.getByRole('region', { name: 'Connected clients' });
  await clients.getByText(/≈ [\d,]+ tokens/).first().waitFor();
  world.passed('messages of agents are recorded while a person wants it, and clients are listed');

  const asked = await agent.call('delete', 'delete_tag', { id: 3 });
  const done = await agent.call('delete', 'delete_tag', { id: 3, confirmation_token: asked.error.details.confirmation_token });
  assert.equal(done.success, true, JSON.stringify(done));
  await go(page, '/audit');
  const entries = content.getByRole('region', { name: 'Audit entries' });
  for (const event of ['CONFIRMATION_REQUIRED', 'CONFIRMATION_GRANTED', 'OPERATION_INTENT', 'OPERATION_OUTCOME']) {
    await entries.getByText(event, { exact: true }).first().waitFor();
  }
  assert.doesNotMatch(await content.innerText(), /conf_[\w-]{20}/);
  await page.setViewportSize({ width: 1280, height: 800 });
  const [shown, needed] = await entries.evaluate((element) => [element.clientWidth, element.scrollWidth]);
  assert.ok(needed <= shown, `the table needs ${needed} of ${shown} pixels`);
  await page.getByLabel('Event').selectOption('OPERATION_OUTCOME');
  await content.getByText('1 entry.', { exact: true }).waitFor();
  await entries.getByRole('button', { name: /OPERATION_OUTCOME: all fields/ }).click();
  await entries.getByRole('link', { name: 'All entries of this request' }).click();
  await heading(page, /^Request/);
  await content.getByText('OPERATION_INTENT').first().waitFor();
  await page.goBack();
  await heading(page, 'Audit');
  await ready(page);
  assert.equal(await page.getByLabel('Event').inputValue(), 'OPERATION_OUTCOME');
  await page.getByRole('button', { name: 'Verify the log' }).click();
  await content.getByText('The log is intact').waitFor();
  await page.getByRole('searchbox', { name: 'Approval' }).fill('nothing');
  await content.getByText('No entry matches these filters.').first().waitFor();
  await go(page, '/audit/req_of_a_read');
  await content.getByText('Nothing was recorded about this request.').waitFor();
  world.passed('the audit log is filtered, followed and verified');

  await go(page, '/settings');
  await content.getByText('No problems were found in the configuration.').waitFor();
  assert.ok((await content.getByRole('region', { name: 'Values' }).getByRole('row').count()) > 1);
  await go(page, '/review');
  await content.getByText('Nothing waits for a review.').waitFor();
  world.passed('settings and review are shown');

  await go(page, '/schema');
  const { sources } = await (await world.ask(page, '/api/tables')).json();
  const tables = sources.flatMap((source) => source.tables);
  assert.ok(tables.length > 5, JSON.stringify(sources));
  const list = content.getByRole('region', { name: 'Tables' });
  assert.equal(await list.getByRole('link').count(), sources[0].tables.length);
  await page.getByRole('button', { name: /^Fit/ }).click();
  await screenshot(page, 'explorer-schema');
  await page.getByLabel('Search tables and columns').fill('customer');
  await list.getByRole('link', { name: /^tags/ }).waitFor({ state: 'hidden' });
  await list.getByRole('link', { name: /^orders/ }).click();
  await heading(page, /orders/);
  await ready(page);
  const columns = content.getByRole('region', { name: 'Columns' });
  await columns.getByRole('link', { name: 'customers.id' }).click();
  await heading(page, /customers/);
  await content.getByRole('heading', { name: 'Referred to by' }).waitFor();
  await content.getByRole('link', { name: 'orders.customer_id' }).first().waitFor();
  await content.getByRole('link', { name: 'list_customers', exact: true }).click();
  await heading(page, /list_customers/);
  world.passed('tables and their references are shown');
});
