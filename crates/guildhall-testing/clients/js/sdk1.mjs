// The first TypeScript SDK: `initialize`, at most revision 2025-11-25.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

import { options, walk } from './walk.mjs';

const given = options();
const client = new Client({ name: 'interop-sdk1', version: '1.0.0' });
const transport =
  given.transport === 'http'
    ? new StreamableHTTPClientTransport(given.url, { requestInit: { headers: given.headers } })
    : new StdioClientTransport({ command: given.command, args: given.args, env: process.env, stderr: 'inherit' });
// The client tells its transport what was negotiated, where the transport wants to know.
let protocol;
const told = transport.setProtocolVersion?.bind(transport);
transport.setProtocolVersion = (version) => {
  protocol = version;
  told?.(version);
};
await client.connect(transport);

await walk(
  {
    client: 'sdk1',
    about: () => ({ server: client.getServerVersion(), protocol }),
    list: async () => (await client.listTools()).tools,
    call: (name, args) => client.callTool({ name, arguments: args }),
    close: () => client.close(),
  },
  given,
);
