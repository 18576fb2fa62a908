// An agent without a model: it uses an installed Aquifer through the official TypeScript SDK, as clients do.
//
//   agent.mjs shop stdio COMMAND ARG...   the database of database.py
//   agent.mjs demo http URL               the sample shop
//
// The SDK is installed outside the source tree: AQUIFER_TEST_CLIENTS_DIR names the folder.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';

const sdk = createRequire(resolve(process.env.AQUIFER_TEST_CLIENTS_DIR, 'package.json'));
const { Client } = sdk('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = sdk('@modelcontextprotocol/sdk/client/stdio.js');
const { StreamableHTTPClientTransport } = sdk('@modelcontextprotocol/sdk/client/streamableHttp.js');

const [subject, kind, ...target] = process.argv.slice(2);
const transport =
  kind === 'stdio'
    ? new StdioClientTransport({ command: target[0], args: target.slice(1), env: process.env })
    : new StreamableHTTPClientTransport(new URL(target[0]));
const client = new Client({ name: 'packaging-check', version: '1.0.0' });
await client.connect(transport);

async function call(tool, operation, params) {
  const result = await client.callTool({ name: `mcp_aql_${tool}`, arguments: { operation, params } });
  return result.structuredContent ?? JSON.parse(result.content[0].text);
}

const tools = (await client.listTools()).tools.map((tool) => tool.name);
assert.ok(tools.includes('mcp_aql_read'), `tools: ${tools}`);
if (subject === 'demo') {
  const order = await call('read', 'get_order', { id: 1 });
  assert.equal(order.data?.id, 1, JSON.stringify(order));
} else {
  const expensive = await call('read', 'list_books', { filter: { price: { gt: 10 } }, fields: ['title'], sort: ['title'] });
  assert.deepEqual(expensive.data?.items?.map((book) => book.title), ['Dune', 'Emma'], JSON.stringify(expensive));
  const made = await call('create', 'create_book', { title: 'Ulysses', price: 12 });
  assert.equal(made.success, true, JSON.stringify(made));
  const refused = await call('delete', 'delete_book', { id: 1 });
  assert.equal(refused.error?.code, 'CONFIRMATION_REQUIRED', JSON.stringify(refused));
}
await client.close();
console.log('the agent got its answers');
