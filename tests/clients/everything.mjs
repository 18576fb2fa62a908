// What a client must be able to do with `server-everything` behind the gateway: everything that server has, as if it
// were connected directly. Knows no SDK; a client is what sdk-*.mjs make, here with `mcp`, the SDK's own client.
//
// Alone, the server's names are its own. Beside another server its operations, prompts and documents are told apart.

import assert from 'node:assert/strict';

const PATIENCE_MS = 20_000;

/** What the person and the model behind the client do, and what was asked of them. */
export function person() {
  const asked = { elicitation: [], sampling: [], logs: [] };
  const answers = { elicitation: { action: 'decline' } };
  return {
    asked,
    answers,
    requests: {
      'elicitation/create': (params) => {
        asked.elicitation.push(params);
        return answers.elicitation;
      },
      'sampling/createMessage': (params) => {
        asked.sampling.push(params);
        return { role: 'assistant', content: { type: 'text', text: 'as the model says' }, model: 'a-model' };
      },
      'roots/list': () => ({ roots: [{ uri: 'file:///home/somebody/project', name: 'project' }] }),
    },
    log: (params) => asked.logs.push(params),
  };
}

export async function checkEverything({ client, someone, stranger, beside, passed }) {
  const server = under(client, beside);
  await checkOperations(server, passed);
  await checkResults(server, passed);
  await checkProgress(server, passed);
  await checkCancellation(server, passed);
  await checkResources(server, passed);
  await checkPrompts(server, passed);
  await checkCompletion(server, passed);
  if (client.askable) {
    await checkLogging(server, someone, passed);
    await checkQuestions(server, someone, passed);
  } else {
    await checkDeclined(server, passed, 'without a session nobody can be asked, and the server is told so');
  }
  if (beside) await checkSound(server, passed);
  const plain = await stranger();
  await checkDeclined(under(plain, beside), passed, 'for a client that can answer nothing the server is told so');
  await plain.close();
}

/** The server as the client sees it, under the names that things have there. */
function under(client, beside) {
  const operation = (name) => (beside ? `everything_${name}` : name);
  const call = (family, name, params = {}, options) =>
    client.call(`mcp_aql_${family}`, { operation: operation(name), params }, options);
  return {
    client,
    mcp: client.mcp,
    operation,
    prompt: (name) => (beside ? `everything_${name}` : name),
    address: (uri) => (beside ? `aquifer://everything/${uri}` : uri),
    call,
    data: async (...of) => {
      const result = await call(...of);
      assert.equal(result.structuredContent.success, true, JSON.stringify(result.structuredContent));
      return result.structuredContent.data;
    },
  };
}

async function checkOperations({ client, operation }, passed) {
  const listed = await client.call('mcp_aql_read', { operation: 'introspect', params: { query: 'operations' } });
  const names = listed.structuredContent.data.operations.map(({ name }) => name);
  const expected = [
    'echo', 'get_annotated_message', 'get_env', 'get_resource_links', 'get_resource_reference', 'get_roots_list',
    'get_structured_content', 'get_sum', 'get_tiny_image', 'gzip_file_as_resource', 'toggle_simulated_logging',
    'toggle_subscriber_updates', 'trigger_elicitation_request', 'trigger_long_running_operation',
    'trigger_sampling_request',
  ];
  for (const name of expected) assert.ok(names.includes(operation(name)), `${name} is not in ${names}`);
  passed(`${names.length} operations offered`);
}

async function checkResults({ mcp, call, data, operation, client }, passed) {
  assert.equal(await data('read', 'echo', { message: 'häll\u{1F30A}' }), 'Echo: häll\u{1F30A}');
  const weather = await data('read', 'get_structured_content', { location: 'Chicago' });
  assert.deepEqual(Object.keys(weather).sort(), ['conditions', 'humidity', 'temperature']);
  const part = await data('read', 'get_structured_content', { location: 'Chicago', fields: ['humidity'] });
  assert.deepEqual(part, { humidity: weather.humidity });
  passed('text and structured content, whole and in part');

  const refused = await call('read', 'get_sum', { a: 'one', b: 2 });
  assert.equal(refused.isError, false);
  assert.equal(refused.structuredContent.error.code, 'VALIDATION_INVALID_TYPE');
  const unknown = await client.call('mcp_aql_read', { operation: operation('get_som'), params: {} });
  assert.match(unknown.structuredContent.error.message, new RegExp(operation('get_sum')));
  passed('wrong arguments and names refused');

  const image = await call('read', 'get_tiny_image');
  const shown = image.structuredContent.data.find((part) => part._attachment !== undefined);
  assert.deepEqual(shown, { _attachment: 0, type: 'image', media_type: 'image/png' });
  const block = image.content[1 + shown._attachment];
  assert.equal(block.type, 'image');
  assert.equal(Buffer.from(block.data, 'base64').subarray(1, 4).toString(), 'PNG');
  // Releases of the SDK before this revision take annotations off.
  if (client.revision >= '2025-11-25') {
    const noted = await call('read', 'get_annotated_message', { message_type: 'error', include_image: true });
    assert.deepEqual(noted.content[1].annotations, { priority: 0.5, audience: ['user'] });
  }
  passed('images');

  const linked = await call('read', 'get_resource_links', { count: 3 });
  const links = linked.content.filter(({ type }) => type === 'resource_link');
  assert.equal(links.length, 3);
  // Links inside of results are the server's own, and lead there.
  for (const { uri } of links) {
    const { contents } = await mcp.readResource({ uri });
    assert.equal(contents[0].uri, uri);
    assert.ok((contents[0].text ?? contents[0].blob).length > 0);
  }
  const embedded = await call('read', 'get_resource_reference', { resource_type: 'Text', resource_id: 2 });
  const resource = embedded.content.find(({ type }) => type === 'resource').resource;
  assert.match(resource.text, /Resource 2/);
  const blob = await call('read', 'get_resource_reference', { resource_type: 'Blob', resource_id: 3 });
  assert.ok(blob.content.find(({ type }) => type === 'resource').resource.blob.length > 0);
  passed('resource links and embedded resources');
}

async function checkProgress({ data }, passed) {
  const seen = [];
  const params = { duration: 1, steps: 4 };
  await data('execute', 'trigger_long_running_operation', params, { onprogress: (progress) => seen.push(progress) });
  const steps = seen.map(({ progress, total }) => [progress, total]);
  // The last comes together with the answer, and the second SDK then no longer listens: connected directly, too.
  assert.deepEqual(steps.slice(0, 3), [[1, 4], [2, 4], [3, 4]]);
  assert.deepEqual(steps.slice(3), steps.length > 3 ? [[4, 4]] : []);
  passed('progress');
}

async function checkCancellation({ data }, passed) {
  const abort = new AbortController();
  const options = { signal: abort.signal, onprogress: () => abort.abort('enough') };
  const running = data('execute', 'trigger_long_running_operation', { duration: 600, steps: 6000 }, options);
  await assert.rejects(running);
  assert.equal(await data('read', 'echo', { message: 'still there' }), 'Echo: still there');
  passed('cancellation');
}

async function checkResources({ client, mcp, data, address }, passed) {
  const capabilities = mcp.getServerCapabilities();
  assert.ok(capabilities.resources);
  const { resources } = await mcp.listResources();
  const names = resources.map(({ uri }) => uri);
  const documents = names.filter((uri) => uri.startsWith(address('demo://resource/static/document/')));
  assert.ok(documents.length >= 5, `${names}`);
  for (const uri of documents) {
    const { contents } = await mcp.readResource({ uri });
    assert.equal(contents[0].uri, uri);
    assert.ok(contents[0].text.length > 100);
  }
  const { resourceTemplates } = await mcp.listResourceTemplates();
  const templates = resourceTemplates.map(({ uriTemplate }) => uriTemplate).sort();
  assert.deepEqual(templates, ['blob', 'text'].map((kind) => address(`demo://resource/dynamic/${kind}/{resourceId}`)));
  const text = await mcp.readResource({ uri: address('demo://resource/dynamic/text/7') });
  assert.match(text.contents[0].text, /Resource 7/);
  const blob = await mcp.readResource({ uri: address('demo://resource/dynamic/blob/8') });
  assert.match(Buffer.from(blob.contents[0].blob, 'base64').toString(), /Resource 8/);
  await assert.rejects(mcp.readResource({ uri: address('demo://resource/nothing') }), /nothing|not found|no document/i);
  passed(`${documents.length} documents and ${templates.length} templates read`);

  // What a call leaves behind can be listed and read by whoever made it.
  const params = { name: 'left.gz', data: 'data:text/plain;base64,aGVsbG8=', output_type: 'resourceLink' };
  await data('execute', 'gzip_file_as_resource', params);
  const left = address('demo://resource/session/left.gz');
  assert.ok((await mcp.listResources()).resources.some(({ uri }) => uri === left));
  const { contents } = await mcp.readResource({ uri: left });
  assert.equal(Buffer.from(contents[0].blob, 'base64')[0], 0x1f);
  passed('a document left behind by a call');

  // Not offered, and refused by name.
  assert.ok(!capabilities.resources.subscribe);
  if (client.askable) {
    await assert.rejects(mcp.subscribeResource({ uri: left }), (error) => /subscri|-32601|not found/i.test(String(error)));
    passed('subscriptions are not offered');
  }
}

async function checkPrompts({ mcp, prompt }, passed) {
  const { prompts } = await mcp.listPrompts();
  const names = prompts.map(({ name }) => name).sort();
  assert.deepEqual(names, ['args-prompt', 'completable-prompt', 'resource-prompt', 'simple-prompt'].map(prompt));
  const simple = await mcp.getPrompt({ name: prompt('simple-prompt') });
  assert.equal(simple.messages[0].content.type, 'text');
  const filled = await mcp.getPrompt({ name: prompt('args-prompt'), arguments: { city: 'Ulm', state: 'Swabia' } });
  assert.match(filled.messages[0].content.text, /Ulm, Swabia/);
  await assert.rejects(mcp.getPrompt({ name: prompt('args-prompt'), arguments: {} }), /city/);
  await assert.rejects(mcp.getPrompt({ name: prompt('no-such-prompt') }), /not found|no-such-prompt|no prompt/i);
  const resource = { resourceType: 'Text', resourceId: '4' };
  const embedded = await mcp.getPrompt({ name: prompt('resource-prompt'), arguments: resource });
  const block = embedded.messages.find(({ content }) => content.type === 'resource').content;
  assert.match(block.resource.text, /Resource 4/);
  passed(`${names.length} prompts`);
}

async function checkCompletion({ mcp, prompt, address }, passed) {
  const values = async (of) => (await mcp.complete(of)).completion.values;
  const ref = { type: 'ref/prompt', name: prompt('completable-prompt') };
  assert.deepEqual(await values({ ref, argument: { name: 'department', value: 'E' } }), ['Engineering']);
  const context = { arguments: { department: 'Sales' } };
  assert.deepEqual(await values({ ref, argument: { name: 'name', value: 'D' }, context }), ['David']);
  const template = { type: 'ref/resource', uri: address('demo://resource/dynamic/text/{resourceId}') };
  assert.deepEqual(await values({ ref: template, argument: { name: 'resourceId', value: '3' } }), ['3']);
  passed('completion');
}

async function checkLogging({ mcp, data }, { asked }, passed) {
  await mcp.setLoggingLevel('debug');
  asked.logs.length = 0;
  // Toggled on it says something at once, at a level of its own choice.
  await data('update', 'toggle_simulated_logging');
  await until('a log line', () => asked.logs.some(({ data }) => /level.message/i.test(data)));
  await data('update', 'toggle_simulated_logging');
  passed('logging');
}

async function checkQuestions({ data }, { asked, answers }, passed) {
  answers.elicitation = { action: 'accept', content: { name: 'Ada', check: true, integer: 7, email: 'ada@example.com' } };
  const accepted = JSON.stringify(await data('execute', 'trigger_elicitation_request'));
  assert.match(accepted, /- Name: Ada/);
  assert.match(accepted, /- Favorite Integer: 7/);
  const { message, requestedSchema } = asked.elicitation.at(-1);
  assert.match(message, /^Source 'everything' asks: Please provide inputs/);
  assert.equal(Object.keys(requestedSchema.properties).length, 13, JSON.stringify(requestedSchema));
  assert.deepEqual(requestedSchema.properties.integer, {
    type: 'integer', title: 'Integer', minimum: 1, maximum: 100, default: 42,
    description: 'Your favorite integer (do not give us your phone number, pin, or other sensitive info)',
  });
  assert.equal(requestedSchema.properties.titledSingleSelectEnum.oneOf[2].title, 'Wonder Woman');
  assert.equal(requestedSchema.properties.titledMultipleSelectEnum.items.anyOf[1].const, 'fish-2');
  for (const action of ['decline', 'cancel']) {
    answers.elicitation = { action };
    assert.match(JSON.stringify(await data('execute', 'trigger_elicitation_request')), new RegExp(action));
  }
  passed('elicitation');

  const sampled = await data('execute', 'trigger_sampling_request', { prompt: 'say it', max_tokens: 17 });
  assert.match(JSON.stringify(sampled), /as the model says/);
  const { messages, maxTokens, systemPrompt } = asked.sampling.at(-1);
  assert.match(messages[0].content.text, /say it/);
  assert.deepEqual([maxTokens, systemPrompt], [17, "Requested by MCP server 'everything'.\n\nYou are a helpful test server."]);
  passed('sampling');

  await until('the roots are known', async () => /somebody\/project/.test(await data('read', 'get_roots_list')));
  passed('roots');
}

async function checkDeclined({ call, data }, passed, what) {
  assert.match(JSON.stringify(await data('execute', 'trigger_elicitation_request')), /declined/);
  const sampled = await call('execute', 'trigger_sampling_request', { prompt: 'say it' });
  assert.equal(sampled.isError, false);
  const { code, details } = sampled.structuredContent.error;
  assert.equal(code, 'UPSTREAM_ERROR');
  assert.match(details.upstream_error, /offers no sampling/);
  passed(what);
}

/** `server-everything` is silent: a server beside it makes the sound. */
async function checkSound({ client }, passed) {
  const result = await client.call('mcp_aql_read', { operation: 'small_get_sound', params: {} });
  assert.equal(result.structuredContent.success, true, JSON.stringify(result.structuredContent));
  const shown = result.structuredContent.data.find((part) => part._attachment !== undefined);
  assert.deepEqual(shown, { _attachment: 0, type: 'audio', media_type: 'audio/wav' });
  const block = result.content[1];
  assert.deepEqual([block.type, Buffer.from(block.data, 'base64').subarray(0, 4).toString()], ['audio', 'RIFF']);
  passed('audio');
}

async function until(what, holds) {
  const deadline = Date.now() + PATIENCE_MS;
  while (!(await holds())) {
    assert.ok(Date.now() < deadline, `timed out: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
