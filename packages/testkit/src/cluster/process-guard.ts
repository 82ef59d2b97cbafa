// Ends a child process, and removes its directory, when the process that started it dies first.
//
// A test runner may be killed in a way that lets no code of ours run. A shell per child therefore waits
// on a pipe that only we hold: the pipe's end means that we are gone, a word on it that all is well.
import { spawn } from 'node:child_process';

const SCRIPT =
  'read -r word || { kill -s KILL -- "-$1"; [ -z "$2" ] || rm -rf -- "$2"; } 2>/dev/null';

export interface ProcessGuard {
  /** The child has ended, or its end is in good hands. */
  release(): void;
}

/** `pid` leads a process group of its own; the whole group is ended. */
export function guardProcess(pid: number, directory = ''): ProcessGuard {
  const guard = spawn('/bin/sh', ['-c', SCRIPT, 'guard', String(pid), directory], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true, // a Ctrl-C that ends us must not end it
  });
  guard.on('error', () => {}); // without a shell there is no guard, and all else works
  guard.stdin.on('error', () => {});
  guard.unref();
  (guard.stdin as Partial<{ unref(): void }>).unref?.();
  return { release: () => void guard.stdin.end('done\n') };
}
