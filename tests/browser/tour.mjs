// Every page on a source that nobody here wrote: browse, try, correct, copy, approve, deny, audit, live, review, settings.

import { approve, assert, checkAccessibility, deny, go, heading, main, openFolds, ready, run } from './harness.mjs';
import { Agent } from './mcp.mjs';
import { SOURCES } from './sources.mjs';

await main(async (world, name) => {
  const source = SOURCES[name];
  assert.ok(source, `${name} is one of ${Object.keys(SOURCES)}`);
  const { read, form, params, text, mistake, changes, kept } = source;
  const agent = await Agent.connect(world.origin);
  const page = await world.login({ permissions: ['clipboard-read', 'clipboard-write'] });
  const content = page.getByRole('main');
  const editor = page.getByLabel('Parameters as JSON');
  const addressOf = (operation, given) => `/operations/${operation}?params=${encodeURIComponent(JSON.stringify(given))}`;

  await content.getByRole('link', { name: source.name, exact: true }).first().waitFor();
  await page.getByRole('navigation').getByRole('link', { name: 'Operations' }).click();
  await heading(page, 'Operations');
  await ready(page);
  await page.getByRole('searchbox', { name: 'Search operations in plain words' }).fill(source.words);
  await page.getByText('best match first, as agents get them').waitFor();
  await page.getByRole('grid', { name: 'Operations' }).getByRole('link', { name: read, exact: true }).click();
  await page.waitForURL(`**/operations/${read}`);
  await heading(page, new RegExp(read));
  await ready(page);
  world.passed('an operation is found by words and opened');

  await openFolds(content);
  for (const [label, value] of Object.entries(form)) await content.getByLabel(new RegExp(`^${label}`)).first().fill(value);
  assert.deepEqual(JSON.parse(await editor.inputValue()), params);
  const answer = await run(page);
  assert.equal(answer.success, true, JSON.stringify(answer));
  for (const view of ['Table', 'Tree', 'Raw']) {
    await page.getByRole('tab', { name: view }).click();
    await openFolds(page.getByRole('tabpanel'));
    await page.getByRole('tabpanel').getByText(text).first().waitFor();
  }
  await checkAccessibility(page, 'an answer');
  world.passed('the form is filled in and run, and the answer is a table, a tree and text');

  await copyAndCall();
  await correct();
  await decide();
  await tryChange();
  await readRecords();

  /** Every snippet names the call. The one for MCP is a call that an agent can send. */
  async function copyAndCall() {
    await page.getByRole('button', { name: 'Copy as…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Copy this request' });
    let call;
    for (const format of ['MCP', 'aquifer', 'curl', 'Python', 'TypeScript']) {
      await dialog.getByRole('tab', { name: format, exact: true }).click();
      const shown = await dialog.getByLabel('Request').innerText();
      assert.ok(shown.includes(read), `${format}: ${shown}`);
      await dialog.getByRole('button', { name: 'Copy', exact: true }).click();
      await page.locator('.toast').getByText('Copied').waitFor();
      const copied = await page.evaluate(() => navigator.clipboard.readText());
      assert.equal(copied.trim(), shown.trim());
      call ??= JSON.parse(copied);
    }
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    assert.equal(call.method, 'tools/call');
    const answered = await agent.callTool(call.params);
    assert.deepEqual(dataOf(answered), dataOf(answer));
    world.passed('a request is copied, and an agent sends it');
  }

  /** Cursors differ from call to call. */
  function dataOf({ data }) {
    const { pageInfo, ...rest } = data;
    return rest;
  }

  async function correct() {
    await go(page, `/operations/${mistake.operation}`);
    await editor.fill(JSON.stringify(mistake.params));
    const wrong = await run(page);
    assert.equal(wrong.success, false, JSON.stringify(wrong));
    await page.getByRole('alert').getByText(wrong.error.code, { exact: true }).waitFor();
    await page.getByRole('button', { name: mistake.fix }).click();
    assert.deepEqual(JSON.parse(await editor.inputValue()), mistake.corrected);
    const corrected = await run(page);
    assert.equal(corrected.success, true, JSON.stringify(corrected));
    await page.getByRole('tabpanel').getByText(text).first().waitFor();
    world.passed('an error is corrected by its suggestion');
  }

  async function ask(given) {
    const { error } = await agent.call(changes.family, changes.operation, given);
    assert.equal(error?.code, 'CONFIRMATION_REQUIRED', JSON.stringify(error));
    const { approval_id: id, confirmation_token } = error.details;
    return { id, repeat: () => agent.call(changes.family, changes.operation, { ...given, confirmation_token }) };
  }

  async function isKept() {
    return JSON.stringify((await agent.call('read', kept.operation, kept.params)).data ?? null).includes(kept.text);
  }

  /** An agent asks twice: one call is approved and runs once, the other is denied and does not run. */
  async function decide() {
    if (kept) assert.equal(await isKept(), true);
    await go(page, '/approvals');
    await page.getByText('Nothing waits for a decision.').waitFor();
    const [approved, denied] = [await ask(changes.params[0]), await ask(changes.params[1])];
    await page.getByRole('heading', { name: 'Waiting (2)' }).waitFor();
    await page.locator(`a[href="/approvals/${approved.id}"]`).first().click();
    await page.waitForURL(`**/approvals/${approved.id}`);
    await ready(page);
    await content.getByText(String(Object.values(changes.params[0]).flat()[0])).first().waitFor();
    await content.getByRole('definition').filter({ hasText: source.place }).waitFor();
    await checkAccessibility(page, 'an approval');
    await approve(page);
    const done = await approved.repeat();
    assert.equal(done.success, true, JSON.stringify(done));
    assert.equal((await approved.repeat()).error.code, 'TOKEN_ALREADY_USED');
    await content.getByText('and the caller has used the approval').waitFor();
    if (kept) assert.equal(await isKept(), false);
    await go(page, `/approvals/${denied.id}`);
    await deny(page, 'Not this one');
    const refused = await denied.repeat();
    assert.equal(refused.error?.code, 'PERMISSION_DENIED', JSON.stringify(refused));
    assert.equal(refused.error.details.decision_reason, 'Not this one');
    world.passed('one call is approved and runs once, another is denied');
  }

  /** A person's own call needs the approval as well. */
  async function tryChange() {
    await go(page, addressOf(changes.operation, changes.params[2]));
    assert.ok((await run(page)).error.details.approval_id);
    const opened = page.waitForEvent('popup');
    await page.getByRole('link', { name: 'Open the approval' }).click();
    const approver = await opened;
    await ready(approver);
    await approve(approver);
    await approver.close();
    const done = await run(page, page.getByRole('button', { name: 'Run it, now that it is approved' }));
    assert.equal(done.success, true, JSON.stringify(done));
    world.passed('a person tries a call that needs an approval');
  }

  async function readRecords() {
    await go(page, `/audit?operation=${changes.operation}`);
    const entries = content.getByRole('region', { name: 'Audit entries' });
    for (const event of ['CONFIRMATION_REQUIRED', 'APPROVAL_GRANTED', 'APPROVAL_DECLINED', 'OPERATION_INTENT', 'OPERATION_OUTCOME']) {
      await entries.getByText(event, { exact: true }).first().waitFor();
    }
    await page.getByLabel('Event').selectOption('OPERATION_OUTCOME');
    await content.getByText('2 entries.', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Verify the log' }).click();
    await content.getByText('The log is intact').waitFor();
    world.passed('the audit log has every decision, and each call once');

    await go(page, '/live');
    await page.getByRole('banner').getByText('live', { exact: true }).waitFor();
    const row = (operation) => content.getByRole('row').filter({ has: page.getByRole('link', { name: operation, exact: true }) });
    await agent.call('read', read, params);
    await row(read).getByText('ok', { exact: true }).first().waitFor();
    await agent.call('read', mistake.operation, mistake.params);
    await row(mistake.operation).getByText('failed', { exact: true }).first().waitFor();
    await go(page, '/review');
    await content.getByText('Nothing waits for a review.').waitFor();
    await go(page, '/settings');
    await content.getByText('No problems were found in the configuration.').waitFor();
    await content.getByRole('region', { name: 'Values' }).getByText(source.name).first().waitFor();
    world.passed('live calls, review and settings are shown');

    await go(page, '/schema');
    if (!source.table) return;
    await content.getByRole('region', { name: 'Tables' }).getByRole('link', { name: new RegExp(`^${source.table}\\b`) }).first().click();
    await heading(page, new RegExp(source.table));
    await content.getByRole('link', { name: read, exact: true }).click();
    await heading(page, new RegExp(read));
    world.passed('a table leads to its operations');
  }
});
