// The second TypeScript SDK: `--era legacy` opens with `initialize`, `--era auto` asks `server/discover` first.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import { options, walk } from './walk.mjs';

const given = options();
const client = new Client(
  { name: 'interop-client2', version: '1.0.0' },
  given.era === 'auto' ? { versionNegotiation: { mode: 'auto' } } : {},
);
const transport =
  given.transport === 'http'
    ? new StreamableHTTPClientTransport(given.url, { requestInit: { headers: given.headers } })
    : new StdioClientTransport({ command: given.command, args: given.args, env: process.env, stderr: 'inherit' });
await client.connect(transport);

await walk(
  {
    client: 'client2',
    about: () => ({ server: client.getServerVersion(), protocol: client.getNegotiatedProtocolVersion() }),
    list: async () => (await client.listTools()).tools,
    call: (name, args) => client.callTool({ name, arguments: args }),
    close: () => client.close(),
  },
  given,
);
