// One walk over the local pack's tools, the same for every client library.
//
// A client program hands in an adapter: `client` (its name), `about()` (what was negotiated), `list()` (tools),
// `call(name, arguments)` (a tool result) and `close()`. The walk checks what it sees and prints one JSON line.
// With `--restart` it prints `ready` after the walk, waits for a line on standard input, and calls again on the same
// connection: meanwhile the caller has restarted the server.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';

const TOOLS = ['local_comment', 'local_create_issue', 'local_query', 'local_read_issue', 'local_update_status'];

// `[--era legacy|auto] [--restart] http <url> <token>` or `… stdio <command> [argument …]`
export function options() {
  const at = process.argv.findIndex((arg) => arg === 'http' || arg === 'stdio');
  assert.ok(at > 0, 'Say `http <url> <token>` or `stdio <command> [argument ...]`');
  const { values } = parseArgs({
    args: process.argv.slice(2, at),
    options: { era: { type: 'string', default: 'legacy' }, restart: { type: 'boolean', default: false } },
  });
  const [transport, ...rest] = process.argv.slice(at);
  return transport === 'http'
    ? { ...values, transport, url: new URL(rest[0]), headers: { Authorization: `Bearer ${rest[1]}` } }
    : { ...values, transport, command: rest[0], args: rest.slice(1) };
}

export async function walk(adapter, { restart }) {
  const tools = await list(adapter);
  const calls = [];
  const call = async (name, args) => {
    const seen = await success(adapter, name, args);
    calls.push({ name, structured: seen });
    return seen;
  };

  const title = `Seen by ${adapter.client}`;
  const created = await call('local_create_issue', { title, body: 'Made by an interop test' });
  const issueId = created.issue.id;
  assert.ok(issueId, 'A created issue has an id');
  assert.equal(created.issue.state, 'Todo');

  const moved = await call('local_update_status', { issueId, status: 'In Progress' });
  assert.equal(moved.issue.state, 'In Progress');

  assert.deepEqual(await call('local_comment', { issueId, body: 'A first comment' }), { ok: true });

  const read = await call('local_read_issue', { issueId });
  assert.equal(read.issue.id, issueId);
  assert.equal(read.issue.title, title);
  assert.equal(read.issue.status, 'In Progress');
  assert.match(read.issue.description, /Made by an interop test/);
  assert.match(JSON.stringify(read.comments), /A first comment/);

  const where = { field: 'id', op: 'eq', value: issueId };
  const queried = await call('local_query', { where });
  assert.equal(queried.total, 1);
  assert.equal(queried.rows[0].title, title);

  const refused = await failure(adapter, 'local_read_issue', { issueId: 'NO-SUCH-ISSUE' });

  if (restart) {
    console.log('ready');
    await line();
    const again = await success(adapter, 'local_read_issue', { issueId });
    assert.equal(again.issue.title, title, 'After a restart the issue is still there');
    calls.push({ name: 'local_read_issue', structured: again });
  }

  const report = { client: adapter.client, ...adapter.about(), tools, calls, refused };
  await adapter.close();
  console.log(JSON.stringify(report));
}

async function list(adapter) {
  const tools = await adapter.list();
  assert.deepEqual(tools.map((tool) => tool.name).sort(), TOOLS);
  for (const tool of tools) {
    assert.ok(tool.description, `${tool.name} has a description`);
    assert.equal(tool.inputSchema.type, 'object');
    assert.equal(tool.outputSchema?.type, 'object', `${tool.name} says what it returns`);
  }
  return TOOLS;
}

// Both forms of a result carry the whole answer: some agents show only one of them.
async function success(adapter, name, args) {
  const result = await adapter.call(name, args);
  assert.ok(!result.isError, `${name}: ${JSON.stringify(result.content)}`);
  assert.deepEqual(JSON.parse(text(result)), result.structuredContent, `${name}: text and structured content differ`);
  return result.structuredContent;
}

async function failure(adapter, name, args) {
  const result = await adapter.call(name, args);
  assert.equal(result.isError, true, `${name} must fail for ${JSON.stringify(args)}`);
  assert.equal(result.structuredContent, undefined, 'A failure has no structured content');
  const { error } = JSON.parse(text(result));
  assert.ok(error.message, 'A failure says why');
  return error.message;
}

function text(result) {
  assert.equal(result.content.length, 1);
  assert.equal(result.content[0].type, 'text');
  return result.content[0].text;
}

async function line() {
  const lines = createInterface({ input: process.stdin });
  await once(lines, 'line');
  lines.close();
  process.stdin.unref?.();
}
