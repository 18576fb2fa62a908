// A client built with @modelcontextprotocol/sdk, the first major version of the TypeScript SDK: the revisions with
// `initialize`, each spoken by the release that knew it as its newest.

import { main, sdk } from './checks.mjs';

const PACKAGES = {
  '2025-03-26': 'sdk-2025-03-26',
  '2025-06-18': 'sdk-2025-06-18',
  '2025-11-25': '@modelcontextprotocol/sdk',
};

await main(async ({ revision, transport, target, someone }) => {
  const name = PACKAGES[revision];
  if (!name) throw new Error(`no release for revision ${revision}; there are ${Object.keys(PACKAGES)}`);
  const { Client } = sdk(`${name}/client/index.js`);
  const { StdioClientTransport } = sdk(`${name}/client/stdio.js`);
  const { StreamableHTTPClientTransport } = sdk(`${name}/client/streamableHttp.js`);
  const types = sdk(`${name}/types.js`);

  const capabilities = someone ? { elicitation: {}, sampling: {}, roots: {} } : {};
  const client = new Client({ name: 'typescript-sdk-v1', version: '1.0.0' }, { capabilities });
  if (someone) {
    const schemas = {
      'elicitation/create': types.ElicitRequestSchema,
      'sampling/createMessage': types.CreateMessageRequestSchema,
      'roots/list': types.ListRootsRequestSchema,
    };
    for (const [method, answer] of Object.entries(someone.requests)) {
      client.setRequestHandler(schemas[method], ({ params }) => answer(params));
    }
    client.setNotificationHandler(types.LoggingMessageNotificationSchema, ({ params }) => someone.log(params));
  }
  const wire =
    transport === 'stdio'
      ? new StdioClientTransport({ command: target[0], args: target.slice(1), env: process.env })
      : new StreamableHTTPClientTransport(new URL(target[0]));
  // The SDK keeps the negotiated revision to itself: read it from the answer to `initialize`.
  let negotiated;
  const request = client.request.bind(client);
  client.request = async (message, ...rest) => {
    const result = await request(message, ...rest);
    if (message.method === 'initialize') negotiated = result.protocolVersion;
    return result;
  };
  await client.connect(wire);
  return {
    revision: negotiated,
    sessionful: true,
    askable: true,
    mcp: client,
    listTools: async () => (await client.listTools()).tools,
    call: (tool, request, options) => client.callTool({ name: tool, arguments: request }, undefined, options),
    close: async () => {
      if (transport === 'http') await wire.terminateSession();
      await client.close();
    },
  };
});
