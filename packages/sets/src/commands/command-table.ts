// Every command that Syncline answers, in one list. Arity, flags, COMMAND and docs/COMMANDS.md come from it.
import type { Metrics } from '@syncline/kernel';
import type { CommandFinder } from './command.js';
import { auth } from './connection/auth.js';
import { client } from './connection/client/client.js';
import { readonly, readwrite } from './connection/cluster-mode.js';
import { echo } from './connection/echo.js';
import { hello } from './connection/hello.js';
import { ping } from './connection/ping.js';
import { quit } from './connection/quit.js';
import { reset } from './connection/reset.js';
import { select } from './connection/select.js';
import { genericCommands } from './generic/generic-commands.js';
import { CommandLookup } from './lookup.js';
import { cluster } from './server/cluster.js';
import { createCommandCommand } from './server/command/command.js';
import { config } from './server/config/config.js';
import { debug } from './server/debug.js';
import { functionCommand } from './server/function.js';
import { info } from './server/info.js';
import { role } from './server/role.js';
import { time } from './server/time.js';
import { wait } from './server/wait.js';
import { setCommands } from './set/set-commands.js';
import { synclineDigest } from './syncline/digest.js';
import { createSynclineRead } from './syncline/read.js';
import { synclineVv } from './syncline/vv.js';
import { discard } from './transactions/discard.js';
import { exec } from './transactions/exec.js';
import { multi } from './transactions/multi.js';
import { unwatch } from './transactions/unwatch.js';
import { watch } from './transactions/watch.js';

export interface CommandTableDeps {
  readonly metrics: Metrics;
}

export function createCommandTable({ metrics }: CommandTableDeps): CommandFinder {
  const table: CommandFinder = new CommandLookup([
    ...setCommands,
    ...genericCommands,
    ...[auth, client, echo, hello, ping, quit, readonly, readwrite, reset, select],
    ...[cluster, config, debug, functionCommand, info, role, time, wait],
    ...[discard, exec, multi, unwatch, watch],
    ...[synclineDigest, synclineVv],
    createSynclineRead({ metrics, lookup: () => table }),
    createCommandCommand(() => table),
  ]);
  return table;
}
