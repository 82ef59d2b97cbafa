// A real PostgreSQL for one test: a cluster in its own directory, on loopback, without a password.
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { chown } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type LocalService, startService } from './local-service.js';

export interface PostgresServer extends LocalService {
  /** The URL for `createPostgresJobStore`; with another port if one is given. */
  connectionString(port?: number): string;
}

/** Where Debian keeps the programs of each version, outside the PATH. */
const DEBIAN = '/usr/lib/postgresql';

/** `settings` are those of postgresql.conf, as in `['fsync=off']`. */
export async function startPostgres(...settings: readonly string[]): Promise<PostgresServer> {
  const user = process.getuid?.() === 0 ? postgresUser() : undefined;
  const service = await startService({
    command: programOf('postgres'),
    user,
    prepare: async (directory) => {
      if (user) await chown(directory, user.uid, user.gid);
      const args = ['-D', join(directory, 'data'), '-U', 'postgres', '-A', 'trust', '-E', 'UTF8'];
      await promisify(execFile)(programOf('initdb'), [...args, '--no-sync', '--locale=C'], {
        cwd: directory,
        ...user,
      });
    },
    args: (port, directory) => [
      ...['-D', join(directory, 'data'), '-h', '127.0.0.1', '-p', String(port)],
      ...['-k', directory, '-c', 'shared_buffers=32MB', '-c', 'max_connections=200'],
      ...settings.flatMap((setting) => ['-c', setting]),
    ],
    greeting: '\0\0\0\x17\0\x03\0\0user\0postgres\0\0',
    ready: /^R/,
  });
  const connectionString = (port = service.port) =>
    `postgresql://postgres@127.0.0.1:${port}/postgres`;
  return Object.assign(service, { connectionString });
}

function postgresUser(): { readonly uid: number; readonly gid: number } {
  const idOf = (option: string) => Number(execFileSync('id', [option, 'postgres']).toString());
  return { uid: idOf('-u'), gid: idOf('-g') };
}

function programOf(name: string): string {
  const versions = existsSync(DEBIAN)
    ? readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a))
    : [];
  const [version] = versions;
  return version === undefined ? name : join(DEBIAN, version, 'bin', name);
}
