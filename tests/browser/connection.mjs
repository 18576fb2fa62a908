// The server goes away and comes back with the same state: the page says so, and goes on by itself.

import { UNREACHABLE, assert, go, hold, main } from './harness.mjs';

const LOST = 'Connection lost. Trying again…';

await main(async (world) => {
  const page = await world.login();
  await go(page, '/approvals');
  const status = page.getByRole('banner');
  await status.getByText('live', { exact: true }).waitFor();
  await world.expectProblem(UNREACHABLE, async () => {
    await hold();
    await status.getByText('reconnecting', { exact: true }).waitFor();
    await page.getByText(LOST).waitFor();
    world.passed('a lost connection is shown');
    await page.getByRole('link', { name: 'Overview' }).click();
    await hold();
    await page.getByText(LOST).waitFor({ state: 'hidden' });
    await status.getByText('live', { exact: true }).waitFor();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  });
  assert.equal((await world.ask(page, '/api/session')).status(), 200);
  world.passed('the page goes on with the same session');
});
