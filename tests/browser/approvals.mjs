// An agent asks for an approval; people see it at once, in two browsers, and decide once.

import { approve, assert, checkAccessibility, go, main, ready, screenshot } from './harness.mjs';
import { Agent } from './mcp.mjs';

const NEWSLETTER = { subject: 'Tents for less', body: 'All week.\nOnly here.', country: 'Germany' };

await main(async (world) => {
  const agent = await Agent.connect(world.origin);
  const send = (params) => agent.call('execute', 'execute_newsletter', params);
  const askForApproval = async (subject) => {
    const params = { ...NEWSLETTER, subject };
    const { error } = await send(params);
    assert.equal(error?.code, 'CONFIRMATION_REQUIRED', JSON.stringify(error));
    const { approval_id: id, confirmation_token } = error.details;
    return { id, subject, repeat: (changed = {}) => send({ ...params, ...changed, confirmation_token }) };
  };

  const page = await world.login();
  await go(page, '/approvals');
  await page.getByText('Nothing waits for a decision.').waitFor();
  const other = await world.open({ session: await world.session(page) });
  await go(other, '/approvals');

  const first = await askForApproval('Tents for less');
  for (const viewer of [page, other]) {
    await viewer.getByRole('heading', { name: 'Waiting (1)' }).waitFor();
    await viewer.getByRole('link', { name: 'execute_newsletter', exact: true }).waitFor();
    await viewer.getByRole('navigation').getByRole('link', { name: 'Approvals 1 pending' }).waitFor();
  }
  assert.match(await page.title(), /^\(1\) Approvals/);
  assert.equal((await first.repeat()).error.details.approval_status, 'pending');
  world.passed('a call that needs an approval appears in every browser');

  await page.getByRole('link', { name: 'execute_newsletter', exact: true }).click();
  await page.waitForURL(`**/approvals/${first.id}`);
  await ready(page);
  await page.getByRole('heading', { level: 1, name: /^Send the newsletter 'Tents for less'\? It would reach \d+ customers\.$/ }).waitFor();
  assert.doesNotMatch(await page.getByRole('main').innerText(), /permanently deletes/);
  await page.getByRole('main').getByText(/calls itself “.+” \(not verified\)/).first().waitFor();
  for (const words of ['Tents for less', 'Only here.', 'Germany', 'Everything that would be sent', 'End of the call:']) {
    await page.getByRole('main').getByText(words).first().waitFor();
  }
  await checkAccessibility(page, 'approval');
  await screenshot(page, 'explorer-approval');
  await approve(page);
  await page.getByRole('button', { name: 'Approve once' }).waitFor({ state: 'hidden' });
  await other.getByRole('heading', { name: 'Waiting (0)' }).waitFor();
  await other.getByRole('table').getByText('approved', { exact: true }).waitFor();
  world.passed('what is approved in one browser is approved in the other');

  const sent = await first.repeat();
  assert.equal(sent.data?.sent, true, JSON.stringify(sent));
  assert.equal((await first.repeat()).error.code, 'TOKEN_ALREADY_USED');
  await page.getByRole('main').getByText('and the caller has used the approval').waitFor();
  world.passed('the approved call runs once');

  await page.getByRole('link', { name: 'Entries of this approval' }).click();
  await page.getByRole('heading', { level: 1, name: 'Audit' }).waitFor();
  await ready(page);
  assert.equal(await page.getByRole('searchbox', { name: 'Approval' }).inputValue(), first.id);
  const entries = page.getByRole('region', { name: 'Audit entries' });
  for (const event of ['CONFIRMATION_REQUIRED', 'APPROVAL_GRANTED', 'CONFIRMATION_GRANTED', 'OPERATION_INTENT', 'OPERATION_OUTCOME']) {
    await entries.getByText(event, { exact: true }).waitFor();
  }
  await entries.getByRole('button', { name: /APPROVAL_GRANTED: all fields/ }).click();
  await entries.getByRole('link', { name: 'The approval' }).click();
  await page.waitForURL(`**/approvals/${first.id}`);
  world.passed('an approval and its audit entries lead to each other');

  const second = await askForApproval('Stoves for less');
  await go(page, `/approvals/${second.id}`);
  await page.getByRole('button', { name: 'Deny…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Deny this call?' });
  await dialog.getByLabel('Reason').fill('Not this week');
  await dialog.getByRole('button', { name: 'Deny', exact: true }).click();
  await page.getByRole('main').getByText(/^Denied by admin.*Not this week/).waitFor();
  const refused = await second.repeat();
  assert.equal(refused.success, false);
  assert.notEqual(refused.error.code, 'CONFIRMATION_REQUIRED', JSON.stringify(refused));
  world.passed('a denied call does not run');

  await editCall();
  await goOn();
  await decideTwice();
  await decideManyTimes();
  await decideSelected();

  /** A person changes the call and approves the changed one; the agent has to send that. */
  async function editCall() {
    const asked = await askForApproval('Lamps for less');
    await go(page, `/approvals/${asked.id}`);
    await page.getByRole('button', { name: 'Edit…' }).click();
    const form = page.getByRole('region', { name: 'Edit the call' });
    const text = form.getByLabel('Parameters');
    const original = await text.inputValue();
    await text.fill(original.replace('"Germany"', '5'));
    await world.expectProblem(/400/, async () => {
      await form.getByRole('button', { name: 'Show the difference' }).click();
      await form.getByText(/^This call cannot be approved\./).waitFor();
    });
    await text.fill(original.replace('"Germany"', '"France"'));
    await form.getByRole('button', { name: 'Show the difference' }).click();
    await form.getByRole('heading', { name: '1 change' }).waitFor();
    await page.getByRole('button', { name: 'Approve once' }).waitFor({ state: 'hidden' });
    await form.getByText(/^It would reach \d+ customers\.$/).waitFor();
    await checkAccessibility(page, 'editing an approval');
    await form.getByRole('button', { name: 'Approve the changed call once' }).click();
    await page.getByRole('heading', { name: 'Approved with changes' }).waitFor();
    const told = await asked.repeat();
    assert.equal(told.error?.code, 'TOKEN_SCOPE_MISMATCH', JSON.stringify(told));
    assert.equal(told.error.details.edited_params.country, 'France');
    const done = await asked.repeat({ country: 'France' });
    assert.equal(done.data?.sent, true, JSON.stringify(done));
    assert.equal(done.warnings?.[0]?.code, 'CALL_EDITED', JSON.stringify(done));
    const { entries: found } = await (await world.ask(page, `/api/audit?event=APPROVAL_GRANTED&approval=${asked.id}`)).json();
    assert.deepEqual(found.map(({ original_parameters, parameters }) => [original_parameters.country, parameters.country]), [['Germany', 'France']]);
    world.passed('a call is edited before it is approved');
  }

  /** After a decision, the next waiting call is one click away. */
  async function goOn() {
    const asked = [await askForApproval('Mats for less'), await askForApproval('Cups for less'), await askForApproval('Maps for less')];
    await go(page, `/approvals/${asked[0].id}`);
    await approve(page);
    await page.getByRole('link', { name: 'Next waiting call (2)' }).click();
    await page.waitForURL(`**/approvals/${asked[1].id}`);
    await ready(page);
    await approve(page);
    await page.getByRole('link', { name: 'Next waiting call (1)' }).click();
    await page.waitForURL(`**/approvals/${asked[2].id}`);
    await ready(page);
    await approve(page);
    for (const { repeat } of asked) assert.equal((await repeat()).data?.sent, true);
    world.passed('a decision leads to the next waiting call');
  }

  /** The second browser decides while the first does; its decision is refused and it shows the first one. */
  async function decideTwice() {
    const asked = await askForApproval('Boots for less');
    for (const viewer of [page, other]) await go(viewer, `/approvals/${asked.id}`);
    await other.route(`**/api/approvals/${asked.id}`, async (route) => {
      await approve(page);
      await route.continue();
    }, { times: 1 });
    await world.expectProblem(/409/, async () => {
      await approve(other);
    });
    assert.equal((await asked.repeat()).data?.sent, true);
    world.passed('the second of two decisions is refused');
  }

  /** Many requests at once. An approval can be withdrawn until it is used, but not given again. */
  async function decideManyTimes() {
    const asked = await askForApproval('Ropes for less');
    const address = `/api/approvals/${asked.id}`;
    const { digest } = await (await world.ask(page, address)).json();
    const post = async (data) => (await world.ask(page, address, { method: 'POST', data })).status();
    const approval = { decision: 'approve', digest };
    assert.equal(await post({ decision: 'approve', digest: 'another' }), 409);
    const statuses = await Promise.all(Array.from({ length: 8 }, () => post(approval)));
    assert.deepEqual(statuses.sort(), [200, 409, 409, 409, 409, 409, 409, 409]);
    const { entries } = await (await world.ask(page, '/api/audit?operation=execute_newsletter')).json();
    const decided = entries.filter(({ event, reason }) => /^APPROVAL_/.test(event) && reason?.includes(asked.id));
    assert.deepEqual(decided.map(({ event }) => event), ['APPROVAL_GRANTED']);
    assert.equal(await post({ decision: 'deny' }), 200);
    assert.equal(await post(approval), 409);
    assert.equal((await asked.repeat()).success, false);
    world.passed('nothing is approved twice');
  }

  /** Several calls are read and approved together. */
  async function decideSelected() {
    const asked = [await askForApproval('One for less'), await askForApproval('Two for less')];
    await go(page, '/approvals');
    await page.getByRole('heading', { name: 'Waiting (2)' }).waitFor();
    await checkAccessibility(page, 'approvals');
    await page.getByLabel('Select all').check();
    await page.getByRole('button', { name: /selected…$/ }).filter({ hasNotText: 'Deny' }).click();
    await page.getByRole('heading', { level: 1, name: 'Decide about 2 calls' }).waitFor();
    for (const { subject } of asked) await page.getByText(subject).first().waitFor();
    for (const end of await page.getByText(/^End of the call/).all()) await end.scrollIntoViewIfNeeded();
    await page.getByRole('button', { name: 'Approve 2 calls, each once' }).click();
    await page.getByText(/^Approved by admin/).nth(1).waitFor();
    for (const { repeat } of asked) assert.equal((await repeat()).data?.sent, true);
    world.passed('several calls are approved together');
  }
});
