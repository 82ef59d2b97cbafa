// The image's health check: requests /healthz from the server in this container. It needs no curl, and it reads the
// same variables as the server. The response comes over loopback, so its certificate is not verified.
import { readFileSync } from 'node:fs';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';

const {
  SYNCLINE_HTTP_PORT: port = '7400',
  SYNCLINE_TLS_CERT_FILE: certFile = '',
  SYNCLINE_TLS_KEY_FILE: keyFile = '',
} = process.env;

const isTls = certFile !== '';
const options = {
  host: '127.0.0.1',
  port,
  path: '/healthz',
  timeout: 4_000,
  agent: false,
  ...(isTls && {
    cert: readFileSync(certFile), // needed if tls.ca_file requires client certificates
    key: readFileSync(keyFile),
    rejectUnauthorized: false,
  }),
};
const request = (isTls ? requestHttps : requestHttp)(options, (response) => {
  response.resume();
  process.exitCode = response.statusCode === 200 ? 0 : 1;
});
request.on('timeout', () => request.destroy(new Error('no response within 4 s')));
request.on('error', (error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
});
request.end();
