// Starts a whole server for a test, with real sockets on free ports, and in memory unless `dataDir` is set.
import {
  createSystemClock,
  createSystemRandom,
  type LogFields,
  type Logger,
} from '@syncline/kernel';
import type { ServerConfig, ServerCredentials } from '../config/server-config.js';
import { settingsSchema } from '../config/settings-schema.js';
import type { ListenerName } from '../listener.js';
import { type RunningServer, startServer } from '../server.js';
import type { Slice } from '../slice.js';

export interface TestServer extends RunningServer, AsyncDisposable {
  readonly announced: readonly string[];
  readonly log: readonly LogLine[];
  port(listener: ListenerName): number;
}

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly msg: string;
  readonly fields: LogFields;
}

type Section = Readonly<Record<string, unknown>>;

export interface TestServerOptions {
  /** Sections and keys as in the schema. Others have their defaults, except ports, which are 0. */
  readonly settings?: Readonly<Record<string, Section | string | number | boolean>>;
  readonly credentials?: Partial<ServerCredentials>;
}

export function testConfig({ settings = {}, credentials = {} }: TestServerOptions): ServerConfig {
  const section = (name: string): Section => ({
    port: 0,
    ...(settings[name] as Section | undefined),
  });
  const parsed = settingsSchema.parse({
    memory: settings['dataDir'] === undefined,
    tls: {},
    auth: {},
    log: {},
    sets: {},
    shutdown: {},
    ...settings,
    http: section('http'),
    grpc: section('grpc'),
    resp: section('resp'),
    mesh: section('mesh'),
    fair: { redis: {}, ...(settings['fair'] as Section | undefined) },
    jobs: {
      firestore: {},
      postgres: {},
      retention: {},
      ...(settings['jobs'] as Section | undefined),
    },
  });
  const none = {
    tls: undefined,
    token: undefined,
    respPassword: undefined,
    meshSecret: undefined,
    fairRedisPassword: undefined,
  };
  return { ...parsed, credentials: { ...none, ...credentials } };
}

export async function startTestServer(
  slices: readonly Slice[],
  options: TestServerOptions = {},
): Promise<TestServer> {
  const announced: string[] = [];
  const log: LogLine[] = [];
  const deps = {
    clock: createSystemClock(),
    random: createSystemRandom(),
    logger: recordingLogger(log),
    onListening: ({ listener }: { readonly listener: string }) => void announced.push(listener),
  };
  const server = await startServer(deps, testConfig(options), slices);
  return {
    ...server,
    announced,
    log,
    port(listener) {
      const found = server.listeners.find((candidate) => candidate.listener === listener);
      if (found === undefined) throw new Error(`${listener} is not open`);
      return found.port;
    },
    async [Symbol.asyncDispose]() {
      await server.stop();
    },
  };
}

export function recordingLogger(lines: LogLine[], bound: LogFields = {}): Logger {
  const record = (level: LogLine['level']) => (msg: string, fields?: LogFields) =>
    void lines.push({ level, msg, fields: { ...bound, ...fields } });
  return {
    debug: record('debug'),
    info: record('info'),
    warn: record('warn'),
    error: record('error'),
    child: (fields) => recordingLogger(lines, { ...bound, ...fields }),
  };
}
