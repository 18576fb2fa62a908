// A walk through an HTTP API behind the server: find an operation, read a list over several pages, change something and
// delete it. Knows no SDK; a client is what sdk-*.mjs make.

import assert from 'node:assert/strict';

export async function checkRest({ client, passed }) {
  const call = async (family, operation, params) => {
    const answer = await client.call(`mcp_aql_${family}`, { operation, params });
    return answer.structuredContent;
  };
  const data = async (family, operation, params) => {
    const answer = await call(family, operation, params);
    assert.equal(answer.success, true, `${operation}: ${JSON.stringify(answer)}`);
    return answer.data;
  };

  const tools = (await client.listTools()).map(({ name }) => name).sort();
  assert.deepEqual(tools, ['mcp_aql_create', 'mcp_aql_delete', 'mcp_aql_read', 'mcp_aql_update']);
  passed('tools are listed');

  const { signatures } = await data('read', 'introspect', { query: 'signatures', search: 'list products' });
  assert.match(signatures[0], /^list_products\(category\?: lamp\|chair, \.\.\.query\) read/);
  passed('the operation is found by the words of the task');

  const ids = [];
  let after;
  do {
    const params = { filter: { price: { gte: 100 } }, fields: ['id'], first: 6, ...(after && { after }) };
    const page = await data('read', 'list_products', params);
    ids.push(...page.items.map(({ id }) => id));
    after = page.pageInfo?.hasNextPage ? page.pageInfo.endCursor : undefined;
  } while (after && ids.length < 100);
  assert.deepEqual(ids, Array.from({ length: 16 }, (_, index) => index + 10));
  passed('a filtered list is read over several pages');

  const changed = await data('update', 'update_product', { product_id: 7, input: { stock: 12 } });
  assert.deepEqual([changed.stock, changed.name], [12, 'Product 7']);
  assert.equal((await data('read', 'get_product', { product_id: 7 })).stock, 12);
  passed('input changes one field');

  const asked = await call('delete', 'delete_product', { product_id: 8 });
  assert.equal(asked.error?.code, 'CONFIRMATION_REQUIRED', JSON.stringify(asked));
  assert.equal((await data('read', 'get_product', { product_id: 8 })).id, 8);
  await data('delete', 'delete_product', { product_id: 8, confirmation_token: asked.error.details.confirmation_token });
  assert.equal((await call('read', 'get_product', { product_id: 8 })).error?.code, 'NOT_FOUND_RESOURCE');
  passed('deleting is confirmed');
}
