// A person logs in by the link, looks around, searches and opens an operation.

import { assert, go, heading, main, ready, screenshot } from './harness.mjs';

await main(async (world) => {
  const addresses = [];
  const page = await world.open();
  page.on('request', (request) => addresses.push(request.url()));
  await page.goto(world.link);
  await heading(page, 'Overview');
  await ready(page);
  assert.equal(new URL(page.url()).hash, '');
  assert.ok(addresses.every((address) => !address.includes(world.token)), 'the token is in no address');
  world.passed('a link logs in');

  const stranger = await world.open();
  await world.expectProblem(/401/, async () => {
    await stranger.goto(world.link);
    await stranger.getByText('This link is not valid any more.').waitFor();
  });
  await stranger.getByLabel('Or paste the link here').fill(world.link);
  await world.expectProblem(/401/, async () => {
    await stranger.getByRole('button', { name: 'Sign in' }).click();
    await stranger.getByText('This link is not valid any more.').waitFor();
  });
  await world.expectProblem(/401/, async () => {
    await stranger.goto('/operations?search=orders');
    await stranger.waitForURL('**/login?next=*');
    await ready(stranger);
  });
  assert.equal(new URL(stranger.url()).searchParams.get('next'), '/operations?search=orders');
  await stranger.context().close();
  world.passed('the link works once, and nothing is shown without it');

  const main_ = page.getByRole('main');
  for (const words of ['What an agent pays to connect', 'Through Aquifer', 'Sources', 'First steps']) await main_.getByText(words).first().waitFor();
  await page.getByText('live', { exact: true }).first().waitFor();
  await screenshot(page, 'explorer-overview');
  const { operations: count } = await (await world.ask(page, '/api/overview')).json();
  await main_.getByText(`Agents see ${count} operations`).waitFor();
  world.passed('the overview says what is served');

  await page.getByRole('navigation').getByRole('link', { name: 'Operations' }).click();
  await heading(page, 'Operations');
  await ready(page);
  const grid = page.getByRole('grid', { name: 'Operations' });
  const total = Number(await grid.getAttribute('aria-rowcount')) - 1;
  assert.ok(total >= count, `${total} of ${count}`);
  assert.ok((await grid.getByRole('row').count()) < 100, 'only rows in view are drawn');
  const search = page.getByRole('searchbox', { name: 'Search operations in plain words' });
  await search.fill('unhappy customers');
  await page.getByText('best match first, as agents get them').waitFor();
  assert.ok(Number(await grid.getAttribute('aria-rowcount')) - 1 < total);
  assert.equal(new URL(page.url()).searchParams.get('search'), 'unhappy customers');
  await search.fill('');
  await page.getByText(`${total} operations`, { exact: true }).waitFor();
  await page.getByLabel('Category').selectOption('DELETE');
  await page.getByText(`of ${total} operations`).waitFor();
  const names = await grid.getByRole('link').allTextContents();
  assert.ok(names.length > 0 && names.every((name) => name.startsWith('delete_')), String(names));
  await page.reload();
  await ready(page);
  assert.equal(await page.getByLabel('Category').inputValue(), 'DELETE');
  await page.getByText(`of ${total} operations`).waitFor();
  world.passed('operations are searched and filtered, and the address keeps it');

  await go(page, '/operations?search=list_orders');
  await grid.getByRole('link', { name: 'list_orders', exact: true }).click();
  await page.waitForURL('**/operations/list_orders');
  await heading(page, /list_orders/);
  await ready(page);
  assert.equal(await page.evaluate(() => document.activeElement.tagName), 'H1');
  await page.goBack();
  await heading(page, 'Operations');
  await page.goForward();
  await heading(page, /list_orders/);
  world.passed('one operation is opened');

  await page.getByRole('button', { name: 'Theme' }).click();
  const theme = await page.evaluate(() => document.documentElement.dataset.theme);
  await page.reload();
  await ready(page);
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), theme);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.waitForURL('**/login');
  await heading(page, 'Sign in');
  assert.equal((await world.ask(page, '/api/session')).status(), 401);
  world.passed('a person signs out');
});
