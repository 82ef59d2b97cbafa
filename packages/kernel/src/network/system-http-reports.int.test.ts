import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { makeCertificates } from '@syncline/testkit';
import { expect, test } from 'vitest';
import { type ClientTls, createHttpReports } from './system-http-reports.js';

/** What one report to this URL fails with. */
async function failureOf(url: string, tls?: ClientTls): Promise<Error | undefined> {
  let failure: Error | undefined;
  const onError = (error: Error) => {
    failure = error;
  };
  const options = { url, onError, ...(tls && { tls }) };
  await createHttpReports(options, 'test').put('api/things', {});
  return failure;
}

async function listen(server: Server) {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    address: `127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const answering =
  (status: number, text: string): RequestListener =>
  (request, response) => {
    request.resume().on('end', () => response.writeHead(status).end(text));
  };

test('a token is refused without TLS beyond loopback, and its text is never shown', () => {
  const create = (url: string, token: string) => () => createHttpReports({ url, token }, 'test');
  expect(create('http://192.0.2.2:9931', 's3cret')).toThrow(
    'refusing to send the token to http://192.0.2.2:9931 without TLS. Use https:// in url, or send no token.',
  );
  for (const url of ['http://127.0.0.1:1', 'http://[::1]:1', 'http://localhost:1', 'https://a:1'])
    expect(create(url, 's3cret')).not.toThrow();
  expect(create('https://a:1', 's3cret\n')).toThrow(
    'token is ***; expected printable ASCII without spaces. It ends with a newline: trim it',
  );
});

test('an address that is missing or not HTTP is refused', () => {
  const create = (url: unknown) => () => createHttpReports({ url: url as string }, 'test');
  for (const url of ['nowhere', 'localhost:7400', 'ftp://a:1', '', undefined]) {
    expect(create(url)).toThrow(
      `url is ${JSON.stringify(url)}; expected an address such as http://127.0.0.1:7400`,
    );
  }
  expect(create('http://ada:pass@a:1')).toThrow('url is "http://***@a:1"');
});

test('the report is sent below the path of the URL, with the token', async () => {
  const seen: unknown[] = [];
  await using server = await listen(
    createServer((request, response) => {
      void (async () => {
        const chunks: unknown[] = [];
        for await (const chunk of request) chunks.push(chunk);
        const { method, url, headers } = request;
        seen.push([method, url, headers.authorization, JSON.parse(chunks.join(''))]);
        response.writeHead(204).end();
      })();
    }),
  );
  const url = `http://${server.address}/behind/proxy`;
  const errors: Error[] = [];
  const onError = (error: Error) => errors.push(error);
  await createHttpReports({ url, token: 's3cret', onError }, 'test').put('api/things', { a: 1 });
  expect(seen).toEqual([['PUT', '/behind/proxy/api/things', 'Bearer s3cret', { a: 1 }]]);
  expect(errors).toEqual([]);
});

test('a failure names the server and the cause', async () => {
  await using refusing = await listen(createServer(answering(401, '{"detail":"wrong token"}')));
  const refused = await failureOf(`http://${refusing.address}`);
  expect(refused).toMatchObject({
    code: 'unauthenticated',
    message: `http://${refusing.address} responded to a report with HTTP 401: wrong token`,
  });
  const closed = await listen(createServer());
  await closed[Symbol.asyncDispose]();
  expect((await failureOf(`http://${closed.address}`))?.message).toMatch(
    /^cannot reach http:\/\/127\.0\.0\.1:\d+ \(connection refused\)\. Nothing seems to be listening/,
  );
  await using certificates = await makeCertificates();
  await using secret = await listen(
    createTlsServer({ ...certificates.server }, answering(204, '')),
  );
  expect((await failureOf(`https://${secret.address}`))?.message).toMatch(
    /^cannot reach https:.*: its certificate is not trusted \(.+\)\. Set tls\.ca to the CA /,
  );
});

test('with tls, a private CA, a name and a client certificate are used', async () => {
  await using certificates = await makeCertificates();
  const { server: own, ca, client } = certificates;
  await using server = await listen(
    createTlsServer({ ...own, ca: ca.cert, requestCert: true }, answering(204, '')),
  );
  const url = `https://${server.address}`;
  const pair = { cert: client.cert, key: client.key };
  expect(await failureOf(url, { ca: ca.cert, ...pair })).toBeUndefined();
  expect(await failureOf(url, { ca: ca.cert, serverName: 'localhost', ...pair })).toBeUndefined();
  const codes: unknown[] = [];
  for (const tls of [{}, { ca: ca.cert }, { ca: ca.cert, serverName: 'other', ...pair }]) {
    const failure = await failureOf(url, tls);
    codes.push(failure?.message.replace(url, 'URL').replaceAll(/\(.*\)/g, '(…)'));
    expect(failure).toMatchObject({ code: 'unauthenticated', retryable: false });
  }
  expect(codes).toEqual([
    'cannot reach URL: its certificate is not trusted (…). Set tls.ca to the CA that signed it.',
    'cannot reach URL: it requires a client certificate that it trusts (…). Set tls.cert and tls.key.',
    'cannot reach URL: its certificate is not trusted (…). Use a host name that is in the certificate, or set tls.serverName to one.',
  ]);
});

test('tls that cannot work is refused at once', async () => {
  await using certificates = await makeCertificates();
  const { server: own, client } = certificates;
  const create = (tls: ClientTls, url: string) => () => createHttpReports({ url, tls }, 'test');
  for (const tls of [
    { ca: 'no PEM' },
    { cert: own.cert },
    { key: own.key },
    { cert: own.cert, key: client.key },
    { cert: 'no PEM', key: own.key },
  ])
    expect(create(tls, 'https://a:1')).toThrow(
      /^tls .* PEM|^tls needs a client certificate and its key/,
    );
  expect(create({ ca: own.cert }, 'http://a:1')).toThrow(
    'tls is set, but url is http://a:1; expected https://',
  );
});

test('by default the first failure is a warning of Node; after close none is', async () => {
  await using server = await listen(createServer(answering(500, 'broken')));
  const warnings: string[] = [];
  const note = ({ message }: Error) => warnings.push(message);
  process.on('warning', note);
  const reports = createHttpReports({ url: `http://${server.address}` }, 'could not report');
  await reports.put('api/things', {});
  await reports.put('api/things', {});
  const closed = createHttpReports({ url: `http://${server.address}` }, 'could not report');
  closed.close();
  await closed.put('api/things', {});
  await new Promise(setImmediate);
  process.off('warning', note);
  const text = `could not report: http://${server.address} responded to a report with HTTP 500: broken`;
  expect(warnings.filter((each) => each.includes('could not report'))).toEqual([text]);
});
