// The packages as a user gets them: packed by npm, installed into projects outside the repository, and used from
// TypeScript, from CommonJS and from plain JavaScript.
//
// Packages of this repository resolve to the tarballs, whether or not they are published; everything else comes
// from npm's cache, or from the registry. `engine-strict` makes a dependency that refuses this version of Node an
// error instead of a warning.
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeTempDirectory } from '@syncline/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ProgramEnd, runProgram } from './run-program.js';

const root = fileURLToPath(new URL('..', import.meta.url));
/** Generous, because npm may have to download and the machine may be busy. */
const timeoutMs = 240_000;

interface Manifest {
  readonly name: string;
  readonly private?: boolean;
  readonly version: string;
  readonly exports: Readonly<Record<string, unknown>>;
}

interface Packed {
  readonly name: string;
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}

const readJson = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));

const manifests = readdirSync(join(root, 'packages'))
  .map((folder) => readJson(join(root, 'packages', folder, 'package.json')) as Manifest)
  .filter((manifest) => manifest.private !== true);
const names = manifests.map(({ name }) => name);
/** The dashboard is files that the server serves; it has no module to import. */
const isModule = (name: string): boolean => name !== '@syncline/dashboard';
const doors = manifests
  .filter(({ name }) => isModule(name))
  .flatMap(({ name, exports }) => Object.keys(exports).map((door) => `${name}${door.slice(1)}`));

/** What the optional adapters require, in the versions that the repository is tested with. */
const peers = [
  '@google-cloud/firestore',
  '@grpc/grpc-js',
  '@nats-io/jetstream',
  '@nats-io/transport-node',
  'express',
  'fastify',
  'ioredis',
  'pg',
  '@types/pg',
];
const tools = ['@types/express', '@types/node', 'typescript'];
/** Older versions of peers, under other names, and where their types are. */
const olderTypes: Readonly<Record<string, string>> = {
  express: '@types/express4/index.d.ts',
  fastify: 'fastify4/fastify.d.ts',
  ioredis: 'ioredis5/built/index.d.ts',
};
const older = ['@types/express4', 'fastify4', 'ioredis5'];

const directory = await makeTempDirectory('packages');
const everything = join(directory.path, 'everything');
const alone = join(directory.path, 'alone');
const folderOf = (name: string): string => name.slice('@syncline/'.length);
const packed = new Map<string, Packed>();

const run = (program: string, ...args: readonly string[]): Promise<ProgramEnd> =>
  runProgram(program, args, { deadlineMs: timeoutMs });
const runNode = (...args: readonly string[]): Promise<ProgramEnd> => run(process.execPath, ...args);

async function npm(args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await run('npm', ...args);
  if (code !== 0) throw new Error(`npm ${args.join(' ')} exited with ${code}\n${stdout}${stderr}`);
  return stdout;
}

const tarballOf = (name: string): string =>
  `file:${join(directory.path, packed.get(name)?.filename ?? `no tarball of ${name}`)}`;

const overrides = (): Readonly<Record<string, string>> =>
  Object.fromEntries(names.map((name) => [name, tarballOf(name)]));

async function writeManifest(folder: string, manifest: object): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, ...manifest }));
}

async function install(folder: string, ...flags: readonly string[]): Promise<void> {
  const quick = ['--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund'];
  await npm(['install', '--prefix', folder, '--engine-strict', ...quick, ...flags]);
}

/** One project with all packages, and with dependencies in the versions of the repository. */
async function installEverything(): Promise<void> {
  const versionOf = (name: string): string =>
    (readJson(join(root, 'node_modules', name, 'package.json')) as Manifest).version;
  const others = [...peers, ...tools].map((name) => [name, versionOf(name)] as const);
  const { devDependencies } = readJson(join(root, 'package.json')) as {
    readonly devDependencies: Readonly<Record<string, string>>;
  };
  const aliases = older.map((name) => [name, devDependencies[name]] as const);
  const dependencies = { ...overrides(), ...Object.fromEntries([...others, ...aliases]) };
  await writeManifest(everything, { dependencies, overrides: overrides() });
  await install(everything);
}

/** Projects with one package each. Nothing is hoisted, so none sees what another has installed. */
async function installAlone(packages: readonly string[]): Promise<void> {
  await writeManifest(alone, { workspaces: packages.map(folderOf), overrides: overrides() });
  for (const name of packages) {
    const dependencies = { [name]: tarballOf(name) };
    const manifest = { name: `alone-${folderOf(name)}`, version: '1.0.0', dependencies };
    await writeManifest(join(alone, folderOf(name)), manifest);
  }
  await install(alone, '--install-strategy=nested');
}

async function writeProject(
  folder: string,
  files: Readonly<Record<string, string>>,
): Promise<string> {
  const path = join(everything, folder);
  await mkdir(path, { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(path, name), text);
  return path;
}

beforeAll(async () => {
  const workspaces = names.flatMap((name) => ['--workspace', name]);
  const destination = ['--pack-destination', directory.path];
  const list = await npm(['pack', '--json', '--prefix', root, ...destination, ...workspaces]);
  for (const one of JSON.parse(list) as Packed[]) packed.set(one.name, one);
  await installEverything();
}, timeoutMs);

afterAll(async () => await directory[Symbol.asyncDispose]());

test('there are packages to pack', () => {
  expect(names).toContain('@syncline/cli');
  expect([...packed.keys()].sort()).toEqual([...names].sort());
});

describe.each(names)('the tarball of %s', (name) => {
  const pathsOf = (): readonly string[] => packed.get(name)?.files.map(({ path }) => path) ?? [];
  const textOf = (path: string): string =>
    readFileSync(join(everything, 'node_modules', name, path), 'utf8');

  test('has a license, a readme with an install line, and neither tests nor build information', () => {
    expect(pathsOf()).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'package.json']));
    expect(textOf('README.md')).toContain(`\nnpm install ${name}\n`);
    expect(pathsOf().filter((path) => /\.test\.|tsbuildinfo|^src\//.test(path))).toEqual([]);
  });

  if (!isModule(name)) return;

  test('has source maps that hold their sources', () => {
    const maps = pathsOf().filter((path) => path.endsWith('.map'));
    expect(maps.length).toBeGreaterThan(0);
    const isWhole = (path: string): boolean => {
      const { sourcesContent } = JSON.parse(textOf(path)) as { sourcesContent?: unknown[] };
      return sourcesContent?.every((source) => typeof source === 'string') ?? false;
    };
    expect(maps.filter((path) => !isWhole(path))).toEqual([]);
    const pointing = pathsOf().filter((path) => path.endsWith('.d.ts'));
    expect(pointing.filter((path) => textOf(path).includes('sourceMappingURL'))).toEqual([]);
  });
});

test('the contracts are in the tarball of the protocol', () => {
  const paths = packed.get('@syncline/protocol')?.files.map(({ path }) => path);
  const contracts = readdirSync(join(root, 'proto'), { recursive: true, encoding: 'utf8' });
  const wanted = contracts.filter((path) => path.endsWith('.proto')).map((path) => `proto/${path}`);
  expect(wanted.length).toBeGreaterThan(0);
  expect(paths).toEqual(expect.arrayContaining(wanted));
});

const typed = `
import { createFairTracker, type FairTracker } from '@syncline/fair';
import { createJobManager, createMemoryJobStore } from '@syncline/jobs';
import { SynclineError } from '@syncline/kernel';

const tracker: FairTracker = createFairTracker();
const decision: boolean = tracker.register('tenant-1').throttled;
await using job = await createJobManager({ store: createMemoryJobStore(), jobId: 'j', taskIndex: 0, numTasks: 1 });
await job.setFinished({ tag: 'ingest' });
const { percent } = await job.getProgress();
await tracker.close();
const error = new SynclineError('not-found', 'nothing there');
console.log(JSON.stringify({ decision, percent, code: error.code }));
`;

describe('a TypeScript project', () => {
  const importAll = (list: readonly string[]): string =>
    list
      .map((door, index) => `import * as door${index} from '${door}';\nvoid door${index};`)
      .join('\n');

  const compile = async (folder: string, options: object, program: string): Promise<string> => {
    const shared = { target: 'es2022', types: ['node'], strict: true, skipLibCheck: false };
    const compilerOptions = { ...shared, outDir: 'out', rootDir: '.', ...options };
    const path = await writeProject(folder, {
      'package.json': '{ "type": "module" }',
      'tsconfig.json': JSON.stringify({ compilerOptions, files: ['program.ts'] }),
      'program.ts': program,
    });
    const build = await runNode(join(everything, 'node_modules/typescript/bin/tsc'), '-p', path);
    expect(build).toEqual({ code: 0, stdout: '', stderr: '' });
    return join(path, 'out/program.js');
  };

  test.each([
    ['nodenext', doors],
    // Types that Firestore depends on (google-auth-library) do not compile with node16.
    ['node16', doors.filter((door) => door !== '@syncline/jobs/firestore')],
  ])(
    'compiles strictly with module %s',
    async (module, imported) => {
      const program = await compile(module, { module }, `${importAll(imported)}\n${typed}`);
      const end = await runNode(program);
      expect(end.stdout).toBe('{"decision":false,"percent":100,"code":"not-found"}\n');
      expect(end.code).toBe(0);
    },
    timeoutMs,
  );

  test('compiles with the older versions of its peers', { timeout: timeoutMs }, async () => {
    const types = Object.entries(olderTypes).map(([name, file]) => [
      name,
      [join(everything, 'node_modules', file)],
    ]);
    const options = { module: 'nodenext', paths: Object.fromEntries(types) };
    const imported = ['fair/express', 'fair/fastify', 'fair/redis', 'streams/redis'];
    await compile('older-peers', options, importAll(imported.map((door) => `@syncline/${door}`)));
  });
});

test('a CommonJS project requires every entry point', { timeout: timeoutMs }, async () => {
  const path = await writeProject('commonjs', {
    'package.json': '{ "type": "commonjs" }',
    'program.js': `
      const counts = ${JSON.stringify(doors)}.map((door) => Object.keys(require(door)).length);
      const { SynclineError } = require('@syncline/kernel');
      console.log(counts.every((count) => count > 0), new SynclineError('closed', 'x') instanceof Error);
    `,
  });
  const end = await runNode(join(path, 'program.js'));
  expect(end).toEqual({ code: 0, stdout: 'true true\n', stderr: '' });
});

test('the installed command runs a server', { timeout: timeoutMs }, async () => {
  const command = join(everything, 'node_modules/.bin/syncline');
  const version = await run(command, '--version');
  expect(version).toMatchObject({ code: 0, stderr: '' });
  const path = await writeProject('server', {
    'package.json': '{ "type": "module" }',
    'program.js': `
      import { spawn } from 'node:child_process';
      import { createInterface } from 'node:readline';
      const ports = ['--http-port', '0', '--grpc-port', '0', '--resp-port', '0', '--mesh-port', '0'];
      const server = spawn(process.execPath, [${JSON.stringify(command)}, 'serve', '--memory', ...ports]);
      server.once('exit', (code) => console.log('exit', code));
      for await (const line of createInterface({ input: server.stdout })) {
        const { listener, port } = JSON.parse(line);
        if (listener !== 'http') continue;
        const answer = await fetch('http://127.0.0.1:' + port + '/healthz');
        console.log(answer.status);
        server.kill('SIGTERM');
      }
    `,
  });
  const end = await runNode(join(path, 'program.js'));
  expect(end).toEqual({ code: 0, stdout: '200\nexit 0\n', stderr: '' });
});

/** One small task for each library, in JavaScript that Node 20 runs as it is. */
const programs: Readonly<Record<string, string>> = {
  '@syncline/riblt': `
    import { Decoder, Encoder } from '@syncline/riblt';
    const key = { k0: 1, k1: 2 };
    const [mine, theirs, decoder] = [new Encoder(key), new Encoder(key), new Decoder(key)];
    theirs.add(1, 2, 3);
    while (decoder.push(theirs.next(8), mine.next(8)) !== 'done');
    console.log(Array.from(decoder.onlyRemote()).join() === '1,2,3');`,
  '@syncline/fair': `
    import { createFairTracker } from '@syncline/fair';
    const tracker = createFairTracker();
    tracker.report('tenant-1', 'failure');
    console.log(tracker.register('tenant-2').throttled === false);
    await tracker.close();`,
  '@syncline/jobs': `
    import { createJobManager, createMemoryJobStore } from '@syncline/jobs';
    const store = createMemoryJobStore();
    const job = await createJobManager({ store, jobId: 'j', taskIndex: 0, numTasks: 2 });
    await job.setFinished({ tag: 'ingest' });
    console.log((await job.getProgress()).percent === 50);
    await job.close();`,
  '@syncline/sets': `
    import { openSets } from '@syncline/sets';
    console.log(typeof openSets === 'function');`,
  '@syncline/streams': `
    import { memoryState } from '@syncline/streams';
    console.log(typeof memoryState === 'function');`,
};

describe('a project with one package', () => {
  beforeAll(() => installAlone(Object.keys(programs)), timeoutMs);

  test.each(Object.entries(programs))(
    '%s works alone, from plain JavaScript',
    async (name, program) => {
      const file = join(alone, folderOf(name), 'program.mjs');
      await writeFile(file, program);
      expect(await runNode(file)).toEqual({ code: 0, stdout: 'true\n', stderr: '' });
    },
    timeoutMs,
  );
});
