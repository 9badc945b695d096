// Loaded before the conformance suite, which has no option for a token: adds one to every request that carries none.

import http from 'node:http';
import { syncBuiltinESMExports } from 'node:module';

import { getGlobalDispatcher, setGlobalDispatcher } from 'undici';

const authorization = `Bearer ${process.env.GUILDHALL_TEST_TOKEN}`;

const plainFetch = globalThis.fetch;
globalThis.fetch = (input, init = {}) => {
  const headers = new Headers(init.headers ?? input.headers);
  if (!headers.has('authorization')) headers.set('authorization', authorization);
  return plainFetch(input, { ...init, headers });
};

setGlobalDispatcher(
  getGlobalDispatcher().compose((dispatch) => (request, handler) => {
    const headers = request.headers;
    if (headers && !Array.isArray(headers) && typeof headers[Symbol.iterator] !== 'function') {
      const names = Object.keys(headers).map((name) => name.toLowerCase());
      if (!names.includes('authorization')) request = { ...request, headers: { ...headers, authorization } };
    }
    return dispatch(request, handler);
  }),
);

const plainRequest = http.request;
http.request = (options, ...rest) => {
  if (options?.headers) options = { ...options, headers: { authorization, ...options.headers } };
  return plainRequest(options, ...rest);
};
syncBuiltinESMExports();
