// Two servers on one state store, a person at each of them and one at the command line: everybody sees the same calls, and the
// first decision counts. The command line is that of crates/aquifer/tests/browser/shared.rs, which works while this flow holds.

import { approve, assert, go, hold, main } from './harness.mjs';
import { Agent } from './mcp.mjs';

const ROUNDS = 5;

await main(async (world, link) => {
  const elsewhere = world.join(link);
  const agent = await Agent.connect(world.origin);
  const [first, second] = [await world.login(), await elsewhere.login()];
  const people = [first, second];
  assert.notEqual(world.origin, elsewhere.origin);

  /** Has the agent, at the first server, ask for a note. */
  const ask = async (text) => {
    const params = { text };
    const { error } = await agent.call('create', 'create_note', params);
    assert.equal(error?.code, 'CONFIRMATION_REQUIRED', JSON.stringify(error));
    const { approval_id: id, confirmation_token } = error.details;
    return { id, repeat: () => agent.call('create', 'create_note', { ...params, confirmation_token }) };
  };
  const count = async (text) => {
    const { data } = await agent.call('read', 'list_notes', { filter: { text } });
    return data.items.length;
  };

  for (const person of people) await go(person, '/approvals');
  const asked = await ask('by everybody');
  for (const person of people) {
    await person.getByRole('heading', { name: 'Waiting (1)' }).waitFor();
    await person.getByRole('link', { name: 'create_note', exact: true }).waitFor();
  }
  console.log(`asked ${asked.id}`);
  await hold();
  world.passed('a waiting call is shown at both servers and at the command line');

  for (const person of people) await go(person, `/approvals/${asked.id}`);
  // The person at the first server decides at the same time, and is too late.
  await first.route(`**/api/approvals/${asked.id}`, async (route) => {
    await approve(second);
    await route.continue();
  }, { times: 1 });
  await world.expectProblem(/409/, async () => {
    await sendApproval(first);
    await first.getByText(/^Nothing was decided\./).waitFor();
    await first.getByText(/^Approved by admin \(explorer\)/).waitFor();
  });
  await first.getByRole('button', { name: 'Approve once' }).waitFor({ state: 'hidden' });
  await hold();
  assert.equal(await count('by everybody'), 0);
  const done = await asked.repeat();
  assert.equal(done.success, true, JSON.stringify(done));
  assert.equal((await asked.repeat()).error.code, 'TOKEN_ALREADY_USED');
  assert.equal(await count('by everybody'), 1);
  for (const person of people) await person.getByText(/^Approved by admin \(explorer\), and the caller has used the approval/).waitFor();
  await hold();
  world.passed('the second decision is refused everywhere, and the call runs once');

  const byCommand = await ask('by command');
  for (const person of people) await go(person, `/approvals/${byCommand.id}`);
  console.log(`asked ${byCommand.id}`);
  await hold();
  for (const person of people) await person.getByText(/^Approved by admin \(command line\)/).waitFor();
  assert.equal((await byCommand.repeat()).success, true);
  world.passed('what is approved at the command line is shown at both servers');

  for (let round = 0; round < ROUNDS; round += 1) {
    const text = `at once ${round}`;
    const both = await ask(text);
    const statuses = await decideAtOnce(both.id, [sendApproval, sendApproval]);
    assert.deepEqual(statuses.sort(), [200, 409]);
    assert.equal((await both.repeat()).success, true);
    assert.equal((await both.repeat()).success, false);
    assert.equal(await count(text), 1);
  }
  world.passed('of two decisions at once, one wins');

  // An approval can be withdrawn until it is used, so the call does not run, whoever was first.
  const split = await ask('split');
  const [, denied] = await decideAtOnce(split.id, [sendApproval, sendDenial]);
  assert.equal(denied, 200);
  for (const person of people) await person.getByText(/^Denied by admin \(explorer\)/).waitFor();
  assert.equal((await split.repeat()).error.code, 'PERMISSION_DENIED');
  assert.equal(await count('split'), 0);
  world.passed('a call that one approves and one denies does not run');

  /** Both people decide. Neither request goes on before both were sent. Returns the status of each. */
  async function decideAtOnce(id, decisions) {
    let release;
    const sent = new Promise((resolve) => (release = resolve));
    let arrived = 0;
    let statuses;
    await world.expectProblem(/409/, async () => {
      const answers = [];
      for (const person of people) {
        await go(person, `/approvals/${id}`);
        await person.route(`**/api/approvals/${id}`, async (route) => {
          if (route.request().method() !== 'POST') return route.fallback();
          arrived += 1;
          if (arrived === people.length) release();
          await sent;
          return route.continue();
        });
        answers.push(person.waitForResponse((response) => response.request().method() === 'POST'));
      }
      await Promise.all(people.map((person, index) => decisions[index](person)));
      statuses = (await Promise.all(answers)).map((answer) => answer.status());
      for (const person of people) await person.unroute(`**/api/approvals/${id}`);
      return statuses.includes(409);
    });
    return statuses;
  }
});

/** Sends an approval, without waiting for what becomes of it. */
async function sendApproval(page) {
  await page.getByText(/^End of the call/).scrollIntoViewIfNeeded();
  await page.getByRole('button', { name: 'Approve once' }).click();
}

async function sendDenial(page) {
  await page.getByRole('button', { name: 'Deny…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Deny', exact: true }).click();
}
