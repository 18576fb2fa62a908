// An MCP server is updated: one tool has changed and one is new. A person reads both, accepts one and rejects the other. The
// server is that of crates/aquifer/tests/browser/sources.rs, which changes it while this flow holds, and restarts Aquifer unless
// `how` is `running`.

import { UNREACHABLE, assert, checkAccessibility, checkWidth, go, hold, main, ready, until } from './harness.mjs';
import { Agent } from './mcp.mjs';

await main(async (world, how) => {
  const before = await Agent.connect(world.origin);
  const page = await world.login();
  const content = page.getByRole('main');
  assert.equal((await before.call('read', 'read_graph')).success, true);
  await go(page, '/review');
  await content.getByText('Nothing waits for a review.').waitFor();
  await page.getByRole('banner').getByText('live', { exact: true }).waitFor();
  if (how === 'running') {
    await hold();
    await content.getByText('The definitions have changed since this page was loaded.').waitFor();
    await content.getByRole('button', { name: 'Show them' }).click();
    await content.getByText('2 in quarantine').waitFor();
  } else {
    await world.expectProblem(UNREACHABLE, async () => {
      await hold();
      await page.getByRole('banner').getByText('reconnecting', { exact: true }).waitFor();
      await hold();
      await page.getByRole('banner').getByText('live', { exact: true }).waitFor();
    });
  }

  const agent = await Agent.connect(world.origin);
  /** The catalog of before is served until the server has listed its tools again, but nothing runs by it. */
  const refused = (operation, params) => until(`${operation} is in quarantine`, async () => {
    const answer = await agent.call('read', operation, params);
    assert.equal(answer.success, false, JSON.stringify(answer));
    return answer.error.code === 'PERMISSION_DENIED';
  });
  const card = (tool) => content.getByRole('article').filter({ has: page.getByRole('heading', { name: new RegExp(`^${tool}\\b`) }) });
  await refused('read_graph');
  await refused('open_nodes_by_name', { names: ['North Cape'] });
  await go(page, '/operations/read_graph');
  await content.getByText('This operation is quarantined').waitFor();
  await content.getByRole('link', { name: 'Review it' }).click();
  await page.waitForURL('**/review');
  await ready(page);
  const changed = card('read_graph');
  await changed.getByText('Changed since it was accepted: description.').waitFor();
  await changed.getByRole('deletion').getByText('"Read the entire knowledge graph"').waitFor();
  await changed.getByRole('insertion').getByText('with the name of its author').waitFor();
  const added = card('open_nodes_by_name');
  await added.getByText('The server added this tool after it was first served.').waitFor();
  await added.getByText('Open specific nodes in the knowledge graph by their names').waitFor();
  await checkAccessibility(page, 'review');
  await page.setViewportSize({ width: 360, height: 640 });
  await checkWidth(page, 'review');
  await page.setViewportSize({ width: 1280, height: 800 });
  world.passed('a changed tool and a new one wait, with what changed');

  await page.getByRole('button', { name: 'Accept this definition: read_graph' }).click();
  await content.getByText('read_graph was accepted.').waitFor();
  await page.getByRole('button', { name: 'Reject: open_nodes_by_name' }).click();
  await content.getByText('open_nodes_by_name was rejected. It stays in quarantine.').waitFor();
  await until('the accepted definition is served', async () => {
    const { operation } = await (await world.ask(page, '/api/operations/read_graph')).json();
    return operation.description.includes('with the name of its author');
  });
  assert.equal((await agent.call('read', 'read_graph')).success, true);
  await refused('open_nodes_by_name', { names: ['North Cape'] });
  await go(page, '/review');
  await card('open_nodes_by_name').getByText('This definition was rejected.').waitFor();
  assert.equal(await card('read_graph').count(), 0);
  world.passed('the accepted tool is called, the rejected one stays in quarantine');

  await go(page, '/audit');
  const entries = content.getByRole('region', { name: 'Audit entries' });
  for (const event of ['DEFINITION_QUARANTINED', 'DEFINITION_ACCEPTED', 'DEFINITION_REJECTED']) {
    await entries.getByText(event, { exact: true }).first().waitFor();
  }
  world.passed('the audit log has both decisions');
});
