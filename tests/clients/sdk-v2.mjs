// A client built with @modelcontextprotocol/client, the second major version of the TypeScript SDK: at 2026-07-28
// when it finds that the server speaks it, or with `initialize` as it does by default.

import { main, sdk } from './checks.mjs';

const { Client, StreamableHTTPClientTransport } = sdk('@modelcontextprotocol/client');
const { StdioClientTransport } = sdk('@modelcontextprotocol/client/stdio');

await main(async ({ revision, transport, target, someone }) => {
  const modern = revision === '2026-07-28';
  const client = new Client(
    { name: 'typescript-sdk-v2', version: '1.0.0' },
    {
      versionNegotiation: { mode: modern ? 'auto' : 'legacy' },
      capabilities: someone ? { elicitation: {}, sampling: {}, roots: {} } : {},
    },
  );
  if (someone) {
    for (const [method, answer] of Object.entries(someone.requests)) {
      client.setRequestHandler(method, ({ params }) => answer(params));
    }
    client.setNotificationHandler('notifications/message', ({ params }) => someone.log(params));
  }
  const wire =
    transport === 'stdio'
      ? new StdioClientTransport({ command: target[0], args: target.slice(1), env: process.env })
      : new StreamableHTTPClientTransport(new URL(target[0]));
  await client.connect(wire);
  return {
    revision: client.getNegotiatedProtocolVersion(),
    sessionful: !modern || transport === 'stdio',
    askable: !modern,
    mcp: client,
    listTools: async () => (await client.listTools()).tools,
    call: (tool, request, options) => client.callTool({ name: tool, arguments: request }, options),
    close: async () => {
      if (transport === 'http' && !modern) await wire.terminateSession();
      await client.close();
    },
  };
});
