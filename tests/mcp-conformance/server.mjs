// The server behind the gateway when the suite tests Aquifer as a server: it has the documents, prompts and completions that
// the suite asks for. The suite's tools would be of no use: Aquifer shows its own, and theirs are operations.
//
// PACKAGES names the folder that the suite is installed in: it brings the SDK.

import { createRequire } from 'node:module';
import { join } from 'node:path';

const sdk = createRequire(join(process.env.PACKAGES, 'package.json'));
const { Server } = sdk('@modelcontextprotocol/sdk/server/index.js');
const { StdioServerTransport } = sdk('@modelcontextprotocol/sdk/server/stdio.js');
const types = sdk('@modelcontextprotocol/sdk/types.js');

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const STATIC = {
  'test://static-text': { mimeType: 'text/plain', text: 'A text that does not change.' },
  'test://static-binary': { mimeType: 'image/png', blob: PIXEL },
};
const TEMPLATE = /^test:\/\/template\/([^/]+)\/data$/;

const user = (content) => ({ messages: [{ role: 'user', content }] });
const text = (words) => user({ type: 'text', text: words });

const PROMPTS = {
  test_simple_prompt: { arguments: [], get: () => text('A simple prompt.') },
  test_prompt_with_arguments: { arguments: ['arg1', 'arg2'], get: ({ arg1, arg2 }) => text(`${arg1} and ${arg2}`) },
  test_prompt_with_embedded_resource: {
    arguments: ['resourceUri'],
    get: ({ resourceUri }) => user({ type: 'resource', resource: { uri: resourceUri, mimeType: 'text/plain', text: 'Embedded.' } }),
  },
  test_prompt_with_image: { arguments: [], get: () => user({ type: 'image', data: PIXEL, mimeType: 'image/png' }) },
};

const capabilities = { tools: {}, resources: {}, prompts: {}, completions: {} };
const server = new Server({ name: 'conformance-fixture', version: '1.0.0' }, { capabilities });

server.setRequestHandler(types.ListToolsRequestSchema, () => ({
  tools: [{ name: 'get_time', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }],
}));
server.setRequestHandler(types.ListResourcesRequestSchema, () => ({
  resources: Object.entries(STATIC).map(([uri, { mimeType }]) => ({ uri, name: uri, mimeType })),
}));
server.setRequestHandler(types.ListResourceTemplatesRequestSchema, () => ({
  resourceTemplates: [{ uriTemplate: 'test://template/{id}/data', name: 'by id', mimeType: 'application/json' }],
}));
server.setRequestHandler(types.ReadResourceRequestSchema, ({ params: { uri } }) => {
  const id = TEMPLATE.exec(uri)?.[1];
  const found = id ? { mimeType: 'application/json', text: JSON.stringify({ id }) } : STATIC[uri];
  if (!found) throw new types.McpError(-32002, 'There is no such resource');
  return { contents: [{ uri, ...found }] };
});
server.setRequestHandler(types.ListPromptsRequestSchema, () => ({
  prompts: Object.entries(PROMPTS).map(([name, prompt]) => ({
    name,
    description: `The suite's ${name}.`,
    arguments: prompt.arguments.map((argument) => ({ name: argument, required: true })),
  })),
}));
server.setRequestHandler(types.GetPromptRequestSchema, ({ params }) => {
  const prompt = PROMPTS[params.name];
  if (!prompt) throw new types.McpError(types.ErrorCode.InvalidParams, 'There is no such prompt');
  return prompt.get(params.arguments ?? {});
});
server.setRequestHandler(types.CompleteRequestSchema, () => ({ completion: { values: ['test1', 'test2'], total: 2, hasMore: false } }));

await server.connect(new StdioServerTransport());
