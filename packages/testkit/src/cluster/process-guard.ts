// Ends a child process, and removes its directory, when the process that started it dies first.
//
// A test runner may be killed without a chance to run any code. So a shell per child waits on a pipe that only this
// process holds: if the pipe closes, we are gone; if something is written to it, everything is fine.
import { spawn } from 'node:child_process';

const SCRIPT =
  'read -r word || { kill -s KILL -- "-$1"; [ -z "$2" ] || rm -rf -- "$2"; } 2>/dev/null';

export interface ProcessGuard {
  /** The child has ended, or someone else takes care of ending it. */
  release(): void;
}

/** `pid` leads a process group of its own; the whole group is ended. */
export function guardProcess(pid: number, directory = ''): ProcessGuard {
  const guard = spawn('/bin/sh', ['-c', SCRIPT, 'guard', String(pid), directory], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true, // a Ctrl-C that ends us must not end it
  });
  guard.on('error', () => {}); // without a shell there is no guard, but everything else works
  guard.stdin.on('error', () => {});
  guard.unref();
  (guard.stdin as Partial<{ unref(): void }>).unref?.();
  return { release: () => void guard.stdin.end('done\n') };
}
