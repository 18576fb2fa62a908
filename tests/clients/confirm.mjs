// Deleting a task asks the person behind the client: accepted it is done, declined and cancelled it is not. Knows no SDK; a
// client is what sdk-*.mjs make.

import assert from 'node:assert/strict';

export async function checkConfirmation({ client, someone, stranger, passed }) {
  const call = (family, operation, params) => client.call(`mcp_aql_${family}`, { operation, params });
  const create = async (by) => {
    const request = { operation: 'create_task', params: { title: 'to be deleted' } };
    const made = await by.call('mcp_aql_create', request);
    assert.equal(made.structuredContent.success, true, JSON.stringify(made.structuredContent));
    return made.structuredContent.data.id;
  };
  const isThere = async (id) => (await call('read', 'get_task', { id })).structuredContent.success;
  for (const action of ['decline', 'cancel', 'accept']) {
    const id = await create(client);
    someone.answers.elicitation = action === 'accept' ? { action, content: {} } : { action };
    const before = someone.asked.elicitation.length;
    const answer = (await call('delete', 'delete_task', { id })).structuredContent;
    assert.equal(someone.asked.elicitation.length, before + 1, `asked once: ${JSON.stringify(answer)}`);
    const { message } = someone.asked.elicitation.at(-1);
    assert.match(message, /delete_task/);
    assert.match(message, new RegExp(String(id)));
    if (action === 'accept') {
      assert.equal(answer.success, true, JSON.stringify(answer));
    } else {
      assert.equal(answer.error.code, 'PERMISSION_DENIED', JSON.stringify(answer));
      assert.equal(JSON.stringify(answer).includes('conf_'), false, 'no token for a model to go on with');
    }
    assert.equal(await isThere(id), action !== 'accept');
    passed(`deleting asks the person: ${action}`);
  }
  // A client that cannot ask gets a token, which confirms nothing before somebody has approved the call.
  const plain = await stranger();
  let id;
  // Over pipes it has a board of its own, on which a task may have the id of one that was declined.
  for (let made = 0; made < 5; made += 1) id = await create(plain);
  const refused = await plain.call('mcp_aql_delete', { operation: 'delete_task', params: { id } });
  const { code, details } = refused.structuredContent.error;
  assert.equal(code, 'CONFIRMATION_REQUIRED');
  assert.match(details.confirmation_token, /^conf_/);
  const params = { id, confirmation_token: details.confirmation_token };
  const done = await plain.call('mcp_aql_delete', { operation: 'delete_task', params });
  assert.equal(done.structuredContent.error?.code, 'CONFIRMATION_REQUIRED', JSON.stringify(done.structuredContent));
  assert.equal(done.structuredContent.error.details.approval_status, 'pending');
  const read = await plain.call('mcp_aql_read', { operation: 'get_task', params: { id } });
  assert.equal(read.structuredContent.success, true);
  await plain.close();
  passed('the token of a client that cannot ask confirms nothing by itself');
}
