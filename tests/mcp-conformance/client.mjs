// The client that the suite tests: Aquifer, used as a person would use it. The suite appends the URL of the scenario's
// server; AQUIFER names the program, AQUIFER_CONFORMANCE_WORK a folder for what it keeps.
//
// The suite does not look at how a client of a whole suite ends. What failed here is therefore left in that folder too, in a
// file that is named after the scenario.

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const { AQUIFER, AQUIFER_CONFORMANCE_WORK: work, MCP_CONFORMANCE_SCENARIO: scenario } = process.env;
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');
const url = process.argv.at(-1);
const folder = mkdtempSync(join(work, `${slug()}-`));
const marker = join(work, `${slug()}.failed`);

// A person who is sent to the login twice for one call gives up.
const MAX_LOGINS = 2;

// The calls of a scenario, where it does not ask for one of test_tool. A name with a hyphen is an operation with an underscore.
const CALLS = {
  tools_call: [['add_numbers', { a: 2, b: 3 }]],
  'sse-retry': [['test_reconnection', {}]],
  'elicitation-sep1034-client-defaults': [['test_client_elicitation_defaults', {}]],
  'http-standard-headers': [['test_headers', {}], ['my_hyphenated_tool', {}]],
  'http-custom-headers': context.toolCalls?.map((call) => [call.name, withoutNull(call.arguments)]),
  'http-invalid-tool-headers': [['valid_tool', { region: 'us-west1' }]],
  'sep-2322-client-request-state': [['test_mrtr_echo_state', {}]],
};

// Scenarios that look at how a client connects and reads the list of tools, and offer nothing to call.
const LISTED = ['request-metadata', 'json-schema-ref-no-deref', 'json-schema-2020-12-preservation'];

/** Aquifer refuses null for "not given", so that it never reaches the server. */
function withoutNull(params) {
  return Object.fromEntries(Object.entries(params).filter(([, value]) => value !== null));
}

function slug() {
  return scenario.replaceAll('/', '--');
}

/** Runs a command of Aquifer in the folder. `onError` sees what is written to stderr, as it comes. */
function aquifer(words, onError = () => {}) {
  const env = { ...process.env, XDG_STATE_HOME: join(folder, 'state'), CLIENT_SECRET: context.client_secret ?? '' };
  const child = spawn(AQUIFER, words, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  return new Promise((resolve, reject) => {
    let [out, err] = ['', ''];
    child.stdout.on('data', (piece) => (out += piece));
    child.stderr.on('data', (piece) => onError((err += piece)));
    child.on('error', reject);
    child.on('close', (code) => {
      console.error(`aquifer ${words.join(' ')}: ${code}\n${out}${err}`);
      resolve({ ok: code === 0, out, said: out + err });
    });
  });
}

/** Runs a login as Aquifer words it, with a browser that agrees to everything. */
async function login(command) {
  let agreed;
  const outcome = await aquifer([...command.split(' ').slice(1), '--no-browser', '--timeout', '60'], (said) => {
    const link = /^ {2}(http\S+)$/m.exec(said);
    if (link) agreed ??= fetch(link[1]).then((page) => page.text());
  });
  await agreed;
  if (!outcome.ok) throw new Error(`the login failed: ${outcome.said}`);
}

/** What an operator writes who has registered a client with the authorization server, or published a document. */
async function loginSettings() {
  if (scenario === 'auth/basic-cimd') {
    return { client_document: 'https://conformance-test.local/client-metadata.json' };
  }
  if (!context.client_secret) return null;
  const described = await fetch(new URL('/.well-known/oauth-protected-resource/mcp', url)).then((page) => page.json());
  const issuer = described.authorization_servers[0];
  return { client_id: context.client_id, client_secret_env: 'CLIENT_SECRET', issuer };
}

async function configure() {
  const settings = await loginSettings();
  const fields = Object.entries(settings ?? {}).map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
  const login = settings ? `login = { ${fields.join(', ')} }\n` : '';
  const source = `[[source]]\nname = "it"\nurl = ${JSON.stringify(url)}\n${login}`;
  // What the tools do is not said, so calls would have to be confirmed.
  const rule = '[[gate.rule]]\nname = "all"\neffect = "allow"\nloosen = true\nsource = "it"\n';
  writeFileSync(join(folder, 'aquifer.toml'), source + rule);
}

async function main() {
  if (scenario === 'initialize') {
    const outcome = await aquifer(['interrogate', url]);
    if (!outcome.ok) throw new Error('interrogate failed');
    return;
  }
  await configure();
  if (LISTED.includes(scenario)) {
    await aquifer(['introspect', '--config', 'aquifer.toml']);
    return;
  }
  for (const [operation, params] of CALLS[scenario] ?? [['test_tool', {}]]) await call(operation, params);
}

async function call(operation, params) {
  for (let logins = 0; ; logins += 1) {
    const outcome = await aquifer(['call', operation, JSON.stringify(params), '--config', 'aquifer.toml']);
    if (outcome.ok) return;
    const command = /`(aquifer login [^`]+)`/.exec(outcome.said);
    if (!command || logins === MAX_LOGINS) throw new Error('the call failed');
    await login(command[1]);
  }
}

rmSync(marker, { force: true });
try {
  await main();
} catch (problem) {
  console.error(problem);
  writeFileSync(marker, String(problem));
  process.exit(1);
}
