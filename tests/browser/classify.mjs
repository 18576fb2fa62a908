// A tool of an MCP server whose evidence is contradictory: a person classifies it, and the decision is written to the overrides file. `file`
// is that file, if the configuration does not name it.

import { assert, checkAccessibility, go, main, until } from './harness.mjs';
import { Agent } from './mcp.mjs';

const [TOOL, OPERATION] = ['trigger-long-running-operation', 'trigger_long_running_operation'];

await main(async (world, file) => {
  const agent = await Agent.connect(world.origin);
  const page = await world.login();
  const content = page.getByRole('main');
  const call = () => agent.call('execute', OPERATION, { duration: 0.1, steps: 1 });
  assert.equal((await call()).error?.code, 'CONFIRMATION_REQUIRED');
  await go(page, '/review');
  const card = content.getByRole('article').filter({ has: page.getByRole('heading', { name: new RegExp(`^${TOOL}`) }) });
  await card.getByText(OPERATION).first().waitFor();
  await card.getByText('trigger', { exact: false }).first().waitFor();
  await card.getByLabel('Danger').selectOption('safe');
  await card.getByText('This lowers the danger from destructive to safe.').waitFor();
  await checkAccessibility(page, 'a classification');
  await card.getByRole('button', { name: `Save this classification: ${TOOL}` }).click();
  await content.getByText(`${TOOL} was reviewed.`).waitFor();
  if (file) {
    await content.getByText(file).waitFor();
    assert.equal((await call()).error?.code, 'CONFIRMATION_REQUIRED');
    return world.passed('a classification is saved, and the page says how it takes effect');
  }
  await until('the classification is in force', async () => {
    const { danger } = await (await world.ask(page, `/api/operations/${OPERATION}`)).json();
    return danger === 'safe';
  });
  const called = await call();
  assert.equal(called.success, true, JSON.stringify(called));
  await go(page, '/review');
  await content.getByText('Nothing waits for a review.').waitFor();
  await go(page, '/audit');
  await content.getByRole('region', { name: 'Audit entries' }).getByText('TOOL_CLASSIFIED', { exact: true }).first().waitFor();
  return world.passed('a classification is saved and in force');
});
