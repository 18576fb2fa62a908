// A request in the words of other programs.
import { announce, h, replace } from "/lib/dom.js";
import { json } from "/lib/format.js";
import { tabs } from "/parts/tabs.js";
import { openDialog } from "/lib/dialog.js";

const PROTOCOL = "2026-07-28";

/** Copies `content` and says so. Where the clipboard is not available, a dialog shows the text. */
export async function copyText(content) {
  try {
    await navigator.clipboard.writeText(content);
    announce("Copied.");
    showToast("Copied");
  } catch {
    openDialog({ title: "Copy this text", body: h("textarea", { rows: 10, readonly: true, class: "editor", "aria-label": "Text to copy", value: content }) });
  }
}

function showToast(message) {
  document.querySelector(".toast")?.remove();
  const toast = h("div", { class: "toast", "aria-hidden": "true" }, message);
  document.body.append(toast);
  setTimeout(() => toast.remove(), 1500);
}

/** Quotes for POSIX shells. */
export const shellQuote = (value) => (/^[\w@%+=:,./-]+$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`);

/** The snippets of a request: `[{id, label, text}]`. `place` is the source for `aquifer call`, if it is known. */
export function snippets(request, { tool, place }) {
  return [
    { id: "mcp", label: "MCP", text: json(toolsCall(request, tool)) },
    { id: "cli", label: "aquifer", text: commandLine(request, place) },
    { id: "curl", label: "curl", text: curl(request, tool) },
    { id: "python", label: "Python", text: python(request, tool) },
    { id: "typescript", label: "TypeScript", text: typescript(request, tool) },
  ];
}

const toolsCall = (request, tool) => ({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: tool, arguments: request } });

function commandLine(request, place) {
  const whole = Object.keys(request).some((name) => name !== "operation" && name !== "params");
  const words = whole ? [json(request, 0)] : [String(request.operation), json(request.params ?? {}, 0)];
  return ["aquifer", "call", ...words, ...(place ? ["--source", place] : [])].map(shellQuote).join(" ");
}

const endpoint = () => `${location.origin}/mcp`;

function curl(request, tool) {
  const call = toolsCall(request, tool);
  call.params._meta = {
    "io.modelcontextprotocol/protocolVersion": PROTOCOL,
    "io.modelcontextprotocol/clientInfo": { name: "curl", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const headers = ["content-type: application/json", "accept: application/json, text/event-stream", `mcp-protocol-version: ${PROTOCOL}`, "mcp-method: tools/call", `mcp-name: ${tool}`];
  return [`curl -sS ${shellQuote(endpoint())}`, ...headers.map((header) => `  -H ${shellQuote(header)}`), `  --data-binary ${shellQuote(json(call, 0))}`].join(" \\\n");
}

function python(request, tool) {
  return `import asyncio
import json

from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

ARGUMENTS = json.loads(${pythonString(json(request))})


async def main():
    async with streamable_http_client(${JSON.stringify(endpoint())}) as (read, write, *_):
        async with ClientSession(read, write) as session:
            await session.initialize()
            result = await session.call_tool(${JSON.stringify(tool)}, ARGUMENTS)
            print(result.content[0].text)


asyncio.run(main())
`;
}

/** A raw literal where the text allows it, so that it stays readable. */
function pythonString(value) {
  return value.includes('"""') || value.endsWith("\\") ? JSON.stringify(value) : `r"""${value}"""`;
}

function typescript(request, tool) {
  return `import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const client = new Client({ name: "example", version: "1.0.0" });
await client.connect(new StreamableHTTPClientTransport(new URL(${JSON.stringify(endpoint())})));
const result = await client.callTool({
  name: ${JSON.stringify(tool)},
  arguments: ${json(request).replaceAll("\n", "\n  ")},
});
console.log(result.content);
await client.close();
`;
}

/** A button that opens the snippets; `request()` returns the request or null, `target(request)` its `{tool, place}`. */
export function copyButton(request, target) {
  return h("button", { type: "button", class: "button", on: { click: async () => {
    const current = request();
    if (current) openSnippets(current, await target(current));
  } } }, "Copy as…");
}

function openSnippets(request, target) {
  const items = snippets(request, target).map(({ id, label, text }) => ({ id, label, render: () => snippetPanel(text) }));
  const box = h("div", {});
  openDialog({ title: "Copy this request", body: box });
  replace(box, tabs("Formats", items).element);
}

function snippetPanel(content) {
  return h("div", { class: "stack" },
    h("pre", { class: "code", tabindex: "0", "aria-label": "Request" }, content),
    h("button", { type: "button", class: "button primary", on: { click: () => copyText(content) } }, "Copy"));
}
