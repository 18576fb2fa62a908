// An agent: an MCP client with nothing but JSON-RPC over HTTP.

import assert from 'node:assert/strict';

const STATELESS_VERSION = '2026-07-28';
const CLIENT = { name: 'browser-test', version: '1.0.0' };

export class Agent {
  #address;
  #isStateless = false;
  #headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  #id = 0;

  /** Connects to the server of `origin`, under this name. */
  static async connect(origin, name = CLIENT.name) {
    const agent = new Agent();
    agent.#address = `${origin}/mcp`;
    const { protocolVersion } = await agent.#request('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { ...CLIENT, name } });
    agent.#headers['mcp-protocol-version'] = protocolVersion;
    await agent.#send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return agent;
  }

  /** An agent without a session, which a restart of the server does not concern. */
  static stateless(origin) {
    const agent = new Agent();
    agent.#address = `${origin}/mcp`;
    agent.#isStateless = true;
    return agent;
  }

  /** Calls an operation through a tool of its family, `read` or `delete` for example. Returns the response. */
  async call(family, operation, params = {}) {
    return this.callTool({ name: `mcp_aql_${family}`, arguments: { operation, params } });
  }

  /** Calls a tool with these parameters of `tools/call`. Returns the response. */
  async callTool(params) {
    return (await this.#request('tools/call', params)).structuredContent;
  }

  async #request(method, params) {
    this.#id += 1;
    const headers = this.#isStateless ? { 'mcp-protocol-version': STATELESS_VERSION, 'mcp-method': method, 'mcp-name': params.name } : {};
    const answer = await this.#send({ jsonrpc: '2.0', id: this.#id, method, params: this.#isStateless ? withMeta(params) : params }, headers);
    assert.equal(answer.error, undefined, JSON.stringify(answer));
    return answer.result;
  }

  async #send(message, headers = {}) {
    const response = await fetch(this.#address, { method: 'POST', headers: { ...this.#headers, ...headers }, body: JSON.stringify(message) });
    const text = await response.text();
    assert.ok(response.ok, `${response.status} ${text}`);
    const session = response.headers.get('mcp-session-id');
    if (session) this.#headers['mcp-session-id'] = session;
    // Plain, or the last event of a stream.
    const events = text.split('\n').filter((line) => line.startsWith('data:')).map((line) => line.slice(5).trim()).filter(Boolean);
    return text ? JSON.parse(events.at(-1) ?? text) : null;
  }
}

/** What a caller without a session says about itself with every request. */
function withMeta(params) {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': STATELESS_VERSION,
    'io.modelcontextprotocol/clientInfo': CLIENT,
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  return { ...params, _meta: meta };
}
