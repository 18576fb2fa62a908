// What every client must be able to do, whatever SDK it is built with. Each check prints one line; the first that
// fails ends the process with a message. Knows no SDK: a client is {sessionful, askable, listTools(), call(tool, arguments,
// options), mcp}, made by the sdk-*.mjs beside this file.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';

import { checkConfirmation } from './confirm.mjs';
import { checkEverything, person } from './everything.mjs';
import { checkRest } from './rest.mjs';

// The SDKs are installed outside the source tree, so they are looked up from there.
const installed = process.env.AQUIFER_TEST_CLIENTS_DIR;
export const sdk = createRequire(installed ? resolve(installed, 'package.json') : import.meta.url);

const USAGE = 'usage: SCRIPT [--hold] REVISION semantic|single|everything|beside|confirm|rest (stdio COMMAND ARG... | http URL)';
const PATIENCE_MS = 20_000;

/** Reads the command line, connects, runs all checks and ends the process. */
export async function main(connect) {
  const line = process.argv.slice(2);
  const hold = line[0] === '--hold' && Boolean(line.shift());
  const [revision, mode, transport, ...target] = line;
  if (!['semantic', 'single', 'everything', 'beside', 'confirm', 'rest'].includes(mode) || !['stdio', 'http'].includes(transport) || target.length === 0) {
    console.error(USAGE);
    process.exit(2);
  }
  try {
    const behind = ['everything', 'beside', 'confirm'].includes(mode);
    const someone = behind ? person() : undefined;
    const client = await connect({ revision, transport, target, someone });
    assert.equal(client.revision, revision, 'negotiated revision');
    passed(`connected at ${client.revision}`);
    if (behind) {
      const stranger = () => connect({ revision, transport, target });
      if (mode === 'confirm') await checkConfirmation({ client, someone, stranger, passed });
      else await checkEverything({ client, someone, stranger, beside: mode === 'beside', passed });
    } else if (mode === 'rest') {
      await checkRest({ client, passed });
    } else {
      await checkTools(client, mode);
      if (hold) await released();
      await checkCalls(calls(client, mode), mode);
    }
    await client.close();
    passed('closed');
    process.exit(0);
  } catch (error) {
    console.error(`not ok - after "${latest}": ${error?.stack ?? error}`);
    process.exit(1);
  }
}

let latest = 'start';

function passed(what) {
  latest = what;
  console.log(`ok - ${what}`);
}

/** Keeps the connection open until somebody writes a line: another client is served meanwhile. */
async function released() {
  console.log('holding');
  const input = createInterface({ input: process.stdin });
  await input.question('');
  input.close();
}

async function checkTools(client, mode) {
  const tools = new Map((await client.listTools()).map((tool) => [tool.name, tool]));
  const families = ['create', 'delete', 'execute', 'read', 'update'];
  const expected = mode === 'single' ? ['mcp_aql'] : families.map((family) => `mcp_aql_${family}`);
  assert.deepEqual([...tools.keys()].sort(), expected);
  for (const tool of tools.values()) {
    assert.equal(tool.inputSchema.type, 'object');
    assert.match(tool.description, /introspect/);
  }
  if (mode === 'semantic') {
    assert.equal(tools.get('mcp_aql_read').annotations.readOnlyHint, true);
    assert.equal(tools.get('mcp_aql_delete').annotations.destructiveHint, true);
  }
  passed(`${tools.size} tools listed`);
}

/** The operations as functions that give the envelope, after checking what holds for every result. */
function calls(client, mode) {
  const tool = (family) => (mode === 'single' ? 'mcp_aql' : `mcp_aql_${family}`);
  const send = async (family, request, options) => {
    const result = await client.call(tool(family), request, options);
    assert.notEqual(result.isError, true, `isError must not be set: ${JSON.stringify(result)}`);
    assert.equal(result.content[0].type, 'text');
    assert.deepEqual(result.structuredContent, JSON.parse(result.content[0].text), 'structuredContent is the text');
    return result.structuredContent;
  };
  const data = async (family, operation, params, options) => {
    let envelope = await send(family, { operation, params }, options);
    if (envelope.error?.code === 'CONFIRMATION_REQUIRED') {
      const confirmed = { ...params, confirmation_token: envelope.error.details.confirmation_token };
      envelope = await send(family, { operation, params: confirmed }, options);
    }
    assert.equal(envelope.success, true, JSON.stringify(envelope));
    return envelope.data;
  };
  return { client, send, data };
}

async function checkCalls(server, mode) {
  await checkIntrospection(server);
  await checkTasks(server);
  await checkBatches(server, mode);
  await checkRefusals(server, mode);
  await checkProgress(server);
  await checkCancellation(server);
}

async function checkIntrospection({ data }) {
  const { operations, _protocol } = await data('read', 'introspect', { query: 'operations' });
  const names = operations.map((operation) => operation.name);
  for (const name of ['create_task', 'get_task', 'update_task', 'delete_task', 'execute_tasks', 'introspect']) {
    assert.ok(names.includes(name), `${name} is listed`);
  }
  assert.equal(typeof _protocol.version, 'string');
  passed(`${names.length} operations introspected`);

  const { operation } = await data('read', 'introspect', { query: 'operations', name: 'create_task' });
  assert.equal(operation.semantic_category, 'CREATE');
  const title = operation.parameters.find((parameter) => parameter.name === 'title');
  assert.deepEqual({ type: title.type, required: title.required }, { type: 'string', required: true });
  passed('one operation introspected');

  const { types } = await data('read', 'introspect', { query: 'types' });
  assert.ok(types.some((type) => type.name === 'Task' && type.kind === 'object'));
  const { type } = await data('read', 'introspect', { query: 'types', name: 'Task' });
  assert.ok(type.fields.some((field) => field.name === 'title'));
  passed(`${types.length} types introspected`);
}

async function checkTasks({ send, data }) {
  const task = await data('create', 'create_task', { title: 'Read the manual' });
  assert.deepEqual(task, { id: task.id, title: 'Read the manual', done: false, notes: {} });
  assert.deepEqual(await data('read', 'get_task', { id: task.id }), task);
  const open = await data('read', 'list_tasks', { done: false });
  assert.ok(open.items.some((item) => item.id === task.id));
  passed('a task created, got and listed');

  const update = (input) => data('update', 'update_task', { id: task.id, input });
  await update({ notes: { page: { from: 1, to: 9 }, tags: ['a', 'b'] } });
  const merged = await update({ title: 'Read on', notes: { page: { to: 12 }, tags: ['c'] } });
  assert.deepEqual(merged, { ...task, title: 'Read on', notes: { page: { from: 1, to: 12 }, tags: ['c'] } });
  const removed = await update({ notes: { page: { from: null } } });
  assert.deepEqual(removed.notes, { page: { to: 12 }, tags: ['c'] });
  passed('a task updated by deep merge');

  await data('delete', 'delete_task', { id: task.id });
  const gone = await send('read', { operation: 'get_task', params: { id: task.id } });
  assert.equal(gone.success, false);
  assert.equal(gone.error.code, 'NOT_FOUND_RESOURCE');
  passed('a task deleted');
}

async function checkBatches({ send, data }, mode) {
  const create = (title) => ({ operation: 'create_task', params: { title } });
  const batch = await send('create', { operations: [create('One'), create(''), create('Three')] });
  assert.equal(batch.success, true);
  assert.deepEqual(batch.summary, { total: 3, succeeded: 2, failed: 1 });
  const outcomes = batch.results.map(({ index, result }) => [index, result.success]);
  assert.deepEqual(outcomes, [[0, true], [1, false], [2, true]]);
  passed('a batch ran, one failure stopping nothing');

  if (mode === 'semantic') {
    const mixed = await send('read', { operations: [{ operation: 'list_tasks' }, create('Lost')] });
    assert.deepEqual(mixed.summary, { total: 2, succeeded: 1, failed: 1 });
    assert.equal(mixed.results[1].result.error.code, 'VALIDATION_ENDPOINT_MISMATCH');
    passed('a batch item of another family refused');
  }
  for (const { result } of batch.results.filter(({ result }) => result.success)) {
    await data('delete', 'delete_task', { id: result.data.id });
  }
}

async function checkRefusals({ client, send }, mode) {
  if (mode === 'semantic') {
    const mismatch = await client.call('mcp_aql_read', { operation: 'create_task', params: { title: 'Lost' } });
    assert.equal(mismatch.isError, false);
    assert.equal(mismatch.structuredContent.success, false);
    const { code, details } = mismatch.structuredContent.error;
    assert.equal(code, 'VALIDATION_ENDPOINT_MISMATCH');
    assert.equal(details.expected_tool, 'mcp_aql_create');
    passed('an operation sent to the wrong tool refused');
  }
  const unknown = await send('create', { operation: 'creat_task', params: { title: 'Typo' } });
  assert.equal(unknown.error.code, 'NOT_FOUND_OPERATION');
  assert.match(unknown.error.message, /Did you mean 'create_task'/);
  passed('an unknown operation answered with a suggestion');
  const large = await send('create', { operation: 'create_task', params: { title: 'x'.repeat(2 ** 21) } });
  assert.equal(large.error.code, 'VALIDATION_PAYLOAD_TOO_LARGE');
  assert.equal(large.error.details.limit_type, 'request_size');
  passed('a call over the size limit answered as a call');
}

async function checkProgress(server) {
  const tasks = await openTasks(server, 4);
  const seen = [];
  const params = { ms_each: 20, wait: true };
  const end = await server.data('execute', 'execute_tasks', params, { onprogress: (progress) => seen.push(progress) });
  assert.equal(end.status, 'completed');
  // The client drops a notification that it handles after the response, and the server joins those that come too fast.
  assert.ok(seen.length >= 1 && seen.every(({ total }) => total === tasks.length), JSON.stringify(seen));
  assert.ok(seen.every(({ progress }, at) => at === 0 || progress > seen[at - 1].progress), JSON.stringify(seen));
  for (const task of tasks) {
    assert.equal((await server.data('read', 'get_task', { id: task.id })).done, true);
    await server.data('delete', 'delete_task', { id: task.id });
  }
  passed(`${seen.length} progress notifications seen`);
}

async function checkCancellation(server) {
  const tasks = await openTasks(server, 3);
  await (server.client.sessionful ? cancelWatchingIt(server) : cancelWatchingTasks(server, tasks));
  for (const task of tasks) await server.data('delete', 'delete_task', { id: task.id });
}

/** A connection may list its executions, and so see the one behind its call run, and end. */
async function cancelWatchingIt(server) {
  const ours = async () => (await server.data('read', 'list_executions', {})).items;
  const before = (await ours()).length;
  const abort = new AbortController();
  const params = { ms_each: 5000, wait: true };
  const call = settled(server.data('execute', 'execute_tasks', params, { signal: abort.signal }));
  const newest = async () => {
    const executions = await ours();
    return executions.length > before ? executions[0].status : undefined;
  };
  await until('the execution runs', async () => (await newest()) === 'running');
  abort.abort();
  assert.equal(await call, 'rejected', 'a cancelled call has no answer');
  await until('the execution is cancelled', async () => (await newest()) === 'cancelled');
  passed('a running call cancelled, its execution with it');
}

/** Without a connection only the board tells: after the first task was done, no other may follow. */
async function cancelWatchingTasks(server, [first, second]) {
  const abort = new AbortController();
  const params = { ms_each: 300, wait: true };
  // One notification says that the first task is done: the call is in the middle of its work.
  const options = { signal: abort.signal, onprogress: () => abort.abort() };
  assert.equal(await settled(server.data('execute', 'execute_tasks', params, options)), 'rejected');
  const done = async (task) => (await server.data('read', 'get_task', { id: task.id })).done;
  assert.equal(await done(first), true);
  const watch = Date.now() + 3 * params.ms_each;
  while (Date.now() < watch) assert.equal(await done(second), false, 'the cancelled call went on');
  passed('a running call cancelled, its work with it');
}

async function openTasks({ data }, count) {
  const tasks = [];
  while (tasks.length < count) tasks.push(await data('create', 'create_task', { title: `Task ${tasks.length + 1}` }));
  return tasks;
}

const settled = (promise) => promise.then(() => 'answered', () => 'rejected');

async function until(what, holds) {
  const deadline = Date.now() + PATIENCE_MS;
  while (!(await holds())) assert.ok(Date.now() < deadline, `timed out: ${what}`);
}
