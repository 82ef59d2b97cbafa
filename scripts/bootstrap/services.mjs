// The external programs that tests use, as data: a slice that needs one adds a line. On Debian as root they are
// installed; elsewhere the tests do not start and the message says what to install.
import { spawnSync } from 'node:child_process';
import { runStep, StepError } from './step.mjs';

/**
 * @typedef {object} Service
 * @property {readonly [string, ...string[]]} probe A command that succeeds when the service is there.
 * @property {string} debianPackage
 * @property {string} use Why the tests need it.
 */

/** @type {readonly Service[]} */
const services = [
  { probe: ['openssl', 'version'], debianPackage: 'openssl', use: 'certificates for TLS' },
  { probe: ['mount', '--version'], debianPackage: 'mount', use: 'a small disk that fills up' },
  {
    probe: ['redis-server', '--version'],
    debianPackage: 'redis-server',
    use: 'a real Redis beside ours',
  },
  {
    probe: ['nats-server', '--version'],
    debianPackage: 'nats-server',
    use: 'JetStream as a source of streams',
  },
  {
    probe: ['redis-cli', '--version'],
    debianPackage: 'redis-tools',
    use: 'redis-cli and redis-benchmark as clients of ours',
  },
  {
    probe: ['/usr/bin/python3', '-c', 'import redis'],
    debianPackage: 'python3-redis',
    use: 'a client of ours in another language',
  },
  {
    probe: ['/bin/sh', '-c', 'command -v postgres || ls /usr/lib/postgresql/*/bin/postgres'],
    debianPackage: 'postgresql',
    use: 'a real PostgreSQL for jobs of several servers',
  },
  {
    probe: ['/usr/bin/python3', '-c', 'import grpc, google.protobuf'],
    debianPackage: 'python3-grpcio',
    use: 'a worker of jobs in Python',
  },
  {
    probe: ['/bin/sh', '-c', 'command -v protoc && command -v grpc_python_plugin'],
    debianPackage: 'protobuf-compiler-grpc',
    use: 'stubs for it',
  },
  {
    probe: ['/usr/bin/chromium', '--version'],
    debianPackage: 'chromium',
    use: 'a browser for the dashboard',
  },
];

export async function ensureServices() {
  const missing = missingServices(services);
  if (missing.length === 0) return;
  const packages = missing.map((service) => service.debianPackage);
  if (process.getuid?.() !== 0 || !isThere(['apt-get', '--version'])) {
    const uses = missing.map((service) => `${service.debianPackage} (${service.use})`).join(', ');
    throw new StepError(
      `The tests need ${uses}. Install them, on Debian with "sudo apt-get install ${packages.join(' ')}", and run the command again.`,
    );
  }
  await aptGet('Reading the list of Debian packages (apt-get update) …', ['update']);
  await aptGet(`Installing ${packages.join(', ')} for the tests (apt-get install) …`, [
    'install',
    '--yes',
    '--no-install-recommends',
    ...packages,
  ]);
}

/** @param {readonly Service[]} wanted */
export function missingServices(wanted) {
  return wanted.filter((service) => !isThere(service.probe));
}

/** @param {readonly [string, ...string[]]} probe */
function isThere([command, ...args]) {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}

/**
 * @param {string} title
 * @param {readonly string[]} args
 */
async function aptGet(title, args) {
  await runStep({
    name: 'services',
    title,
    command: 'env',
    args: ['DEBIAN_FRONTEND=noninteractive', 'apt-get', ...args],
    hint: 'The package mirror may be unreachable. Fix that, or install the packages manually.',
  });
}
