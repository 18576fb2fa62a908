// An agent: an MCP client with nothing but JSON-RPC over HTTP.

import assert from 'node:assert/strict';

export class Agent {
  #address;
  #headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  #id = 0;

  /** Connects to the server of `origin`. */
  static async connect(origin) {
    const agent = new Agent();
    agent.#address = `${origin}/mcp`;
    const clientInfo = { name: 'browser-test', version: '1.0.0' };
    const { protocolVersion } = await agent.#request('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo });
    agent.#headers['mcp-protocol-version'] = protocolVersion;
    await agent.#send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return agent;
  }

  /** Calls an operation through a tool of its family, `read` or `delete` for example. Returns the response. */
  async call(family, operation, params = {}) {
    const result = await this.#request('tools/call', { name: `mcp_aql_${family}`, arguments: { operation, params } });
    return result.structuredContent;
  }

  async #request(method, params) {
    this.#id += 1;
    const answer = await this.#send({ jsonrpc: '2.0', id: this.#id, method, params });
    assert.equal(answer.error, undefined, JSON.stringify(answer));
    return answer.result;
  }

  async #send(message) {
    const response = await fetch(this.#address, { method: 'POST', headers: this.#headers, body: JSON.stringify(message) });
    const text = await response.text();
    assert.ok(response.ok, `${response.status} ${text}`);
    const session = response.headers.get('mcp-session-id');
    if (session) this.#headers['mcp-session-id'] = session;
    // Plain, or the last event of a stream.
    const events = text.split('\n').filter((line) => line.startsWith('data:')).map((line) => line.slice(5).trim()).filter(Boolean);
    return text ? JSON.parse(events.at(-1) ?? text) : null;
  }
}
