import { X509Certificate } from 'node:crypto';
import { access } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { makeCertificates } from './certificates.js';

it('creates certificates with the named flaws, and removes them', async () => {
  const certificates = await makeCertificates();
  const { ca, server, client, expired, untrusted, mismatched, directory } = certificates;
  const read = ({ cert }: { cert: string }) => new X509Certificate(cert);
  const authority = read(ca);
  for (const pair of [server, client, expired])
    expect(read(pair).verify(authority.publicKey)).toBe(true);
  expect(read(untrusted).verify(authority.publicKey)).toBe(false);
  expect(read(server).subjectAltName).toContain('URI:syncline://test/node/1');
  expect(read(server).checkHost('localhost')).toBe('localhost');
  expect(read(server).checkIP('127.0.0.1')).toBe('127.0.0.1');
  expect(Date.parse(read(expired).validTo)).toBeLessThan(Date.now());
  expect(mismatched).toMatchObject({ cert: server.cert, key: client.key });
  await certificates[Symbol.asyncDispose]();
  await expect(access(directory)).rejects.toMatchObject({ code: 'ENOENT' });
});
