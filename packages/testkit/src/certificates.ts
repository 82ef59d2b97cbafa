// Certificates for tests, made with `openssl` on demand: the repository holds no secrets, and nothing in it
// expires.
import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { makeTempDirectory } from './temp-directory.js';

/** A certificate with its key, as files and as text. */
export interface CertificatePair {
  readonly certFile: string;
  readonly keyFile: string;
  readonly cert: string;
  readonly key: string;
}

export interface TestCertificates extends AsyncDisposable {
  readonly directory: string;
  /** The CA that has signed all of them but `untrusted`. */
  readonly ca: CertificatePair;
  /** For localhost, 127.0.0.1 and ::1, with the URI name `syncline://test/node/1`. */
  readonly server: CertificatePair;
  /** As `server`, with the URI name `syncline://test/node/2`. */
  readonly client: CertificatePair;
  readonly expired: CertificatePair;
  /** Signed by an untrusted CA. */
  readonly untrusted: CertificatePair;
  /** The certificate of `server` with the key of `client`. */
  readonly mismatched: CertificatePair;
}

const run = promisify(execFile);

export async function makeCertificates(): Promise<TestCertificates> {
  const temp = await makeTempDirectory('certificates');
  const directory = temp.path;
  try {
    const ca = await makeAuthority(directory, 'authority');
    const others = await makeAuthority(directory, 'other-authority');
    const server = await issue(ca, { name: 'server', uri: 'syncline://test/node/1' });
    const client = await issue(ca, { name: 'client', uri: 'syncline://test/node/2' });
    const expired = await issue(ca, {
      name: 'expired',
      uri: 'syncline://test/node/3',
      dates: ['-startdate', '20200101000000Z', '-enddate', '20200201000000Z'],
    });
    const untrusted = await issue(others, { name: 'untrusted', uri: 'syncline://test/node/1' });
    return {
      directory,
      ca,
      server,
      client,
      expired,
      untrusted,
      mismatched: { ...server, key: client.key, keyFile: client.keyFile },
      [Symbol.asyncDispose]: () => temp[Symbol.asyncDispose](),
    };
  } catch (error) {
    await temp[Symbol.asyncDispose]();
    throw new Error('cannot make certificates; is openssl installed?', { cause: error });
  }
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

/** Each CA has its own directory, since `openssl ca` keeps a list of what it signed. */
async function makeAuthority(parent: string, name: string): Promise<CertificatePair> {
  const directory = join(parent, name);
  await mkdir(directory);
  await writeFile(join(directory, 'index.txt'), '');
  await writeFile(
    join(directory, 'ca.cnf'),
    `[ca]\ndefault_ca=authority\n[authority]\ndir=${directory}\ndatabase=$dir/index.txt\nnew_certs_dir=$dir\n` +
      'rand_serial=yes\ndefault_md=sha256\ndefault_days=2\nunique_subject=no\npolicy=any\ncopy_extensions=copy\n' +
      '[any]\ncommonName=supplied\n',
  );
  const [certFile, keyFile] = [join(directory, 'ca.pem'), join(directory, 'ca.key')];
  const extensions = ['basicConstraints=critical,CA:TRUE', 'keyUsage=critical,keyCertSign'];
  await run('openssl', [
    ...['req', '-x509', ...NEW_KEY, '-days', '2', '-subj', `/CN=${name}`],
    ...extensions.flatMap((extension) => ['-addext', extension]),
    ...['-keyout', keyFile, '-out', certFile],
  ]);
  return await readPair(certFile, keyFile);
}

interface Issued {
  readonly name: string;
  readonly uri: string;
  readonly dates?: readonly string[];
}

async function issue(
  authority: CertificatePair,
  { name, uri, dates = [] }: Issued,
): Promise<CertificatePair> {
  const directory = dirname(authority.certFile);
  const [certFile, keyFile] = [join(directory, `${name}.pem`), join(directory, `${name}.key`)];
  const request = join(directory, `${name}.csr`);
  await run('openssl', [
    ...['req', '-new', ...NEW_KEY, '-subj', `/CN=${name}`, '-keyout', keyFile, '-out', request],
    ...['-addext', `subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1,URI:${uri}`],
  ]);
  await run('openssl', [
    ...['ca', '-batch', '-notext', '-config', join(directory, 'ca.cnf'), ...dates],
    ...['-cert', authority.certFile, '-keyfile', authority.keyFile],
    ...['-in', request, '-out', certFile],
  ]);
  return await readPair(certFile, keyFile);
}

async function readPair(certFile: string, keyFile: string): Promise<CertificatePair> {
  const [cert, key] = await Promise.all([readFile(certFile, 'utf8'), readFile(keyFile, 'utf8')]);
  return { certFile, keyFile, cert, key };
}
