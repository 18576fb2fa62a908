// The server ends while one call waits and another is approved, and starts again with the same state. Nothing is lost, and
// nothing runs twice. crates/aquifer/tests/browser/shared.rs ends and starts it while this flow holds.

import { UNREACHABLE, approve, assert, go, hold, main } from './harness.mjs';
import { Agent } from './mcp.mjs';

await main(async (world) => {
  const agent = Agent.stateless(world.origin);
  const page = await world.login();
  const status = page.getByRole('banner');

  const ask = async (text, caller = agent) => {
    const params = { text };
    const { error } = await caller.call('create', 'create_note', params);
    assert.equal(error?.code, 'CONFIRMATION_REQUIRED', JSON.stringify(error));
    const { approval_id: id, confirmation_token } = error.details;
    return { id, repeat: (by = caller) => by.call('create', 'create_note', { ...params, confirmation_token }) };
  };
  const restart = () => world.expectProblem(UNREACHABLE, async () => {
    await hold();
    await status.getByText('reconnecting', { exact: true }).waitFor();
    await hold();
    await status.getByText('live', { exact: true }).waitFor();
  });

  const approved = await ask('approved before');
  await go(page, `/approvals/${approved.id}`);
  await approve(page);
  const inSession = await ask('of a session', await Agent.connect(world.origin));
  await go(page, `/approvals/${inSession.id}`);
  await approve(page);
  const waiting = await ask('approved after');
  await go(page, `/approvals/${waiting.id}`);
  await status.getByText('live', { exact: true }).waitFor();
  await restart();
  const early = await waiting.repeat();
  assert.equal(early.error?.details.approval_status, 'pending', JSON.stringify(early));
  await approve(page);
  await go(page, '/approvals');
  await page.getByRole('heading', { name: 'Waiting (0)' }).waitFor();
  world.passed('a call that waits still waits after a restart, and is approved');

  for (const { repeat } of [approved, waiting]) {
    const done = await repeat();
    assert.equal(done.success, true, JSON.stringify(done));
    assert.equal((await repeat()).error.code, 'TOKEN_ALREADY_USED');
  }
  // Sessions end with the server, and approvals do not: whoever has reconnected runs the call, once.
  const reconnected = await Agent.connect(world.origin);
  assert.equal((await inSession.repeat(reconnected)).success, true);
  for (const other of [reconnected, agent]) {
    assert.equal((await inSession.repeat(other)).error.code, 'TOKEN_ALREADY_USED');
  }
  await go(page, `/approvals/${waiting.id}`);
  await page.getByText('and the caller has used the approval').waitFor();
  world.passed('both calls run once');

  await restart();
  for (const { repeat } of [approved, waiting]) assert.equal((await repeat()).error.code, 'TOKEN_ALREADY_USED');
  world.passed('a second restart lets nothing run again');
});
