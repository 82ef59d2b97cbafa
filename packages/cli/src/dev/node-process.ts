// Runs one node of a local cluster in its own process, with an IPC channel. The node reports over it that it is up,
// and stops when the channel breaks, which happens if this process dies.
//
// Each node is in its own process group: Ctrl-C in a terminal signals the whole group, and a node that received
// both SIGINT and our SIGTERM would treat the second one as a forced exit.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { ListeningAddress } from '@syncline/server';
import { cliLimits } from '../limits.js';
import type { DevNode } from './dev-plan.js';
import { LineSplitter } from './line-splitter.js';

export interface NodeEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface NodeProcessDeps {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Called with each line that the node writes to standard error. */
  onLine(line: string): void;
}

export class NodeProcess {
  readonly nodeId: number;
  /** The shell command that starts it again. */
  readonly command: string;
  readonly listeners: ListeningAddress[] = [];
  /** Resolves when the node is ready; never if it fails to start. */
  readonly started: Promise<void>;
  readonly ended: Promise<NodeEnd>;
  /** The node's last `syncline: …` line before it was up, which says why it did not start. */
  lastFailure = '';
  readonly #child: ChildProcess;

  constructor(deps: NodeProcessDeps, { nodeId, args }: DevNode) {
    this.nodeId = nodeId;
    this.command = ['npx', 'syncline', ...args].map(quoted).join(' ');
    const [, ownCommand = ''] = process.argv;
    this.#child = spawn(process.execPath, [ownCommand, ...args], {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: { ...deps.environment },
      detached: true,
    });
    let isUp = false;
    this.started = once(this.#child, 'message').then(() => {
      isUp = true;
    });
    this.ended = new Promise((resolve) => {
      this.#child.once('close', (code, signal) => resolve({ code, signal }));
    });
    this.#readLines('stdout', (line) => this.listeners.push(JSON.parse(line) as ListeningAddress));
    this.#readLines('stderr', (line) => {
      // The caller reports this line.
      if (line.startsWith('syncline: ') && !isUp)
        this.lastFailure = line.slice('syncline: '.length);
      else deps.onLine(line);
    });
  }

  stop(signal: 'SIGTERM' | 'SIGKILL'): void {
    this.#child.kill(signal);
  }

  #readLines(name: 'stdout' | 'stderr', onLine: (line: string) => void): void {
    const charactersMax = cliLimits.logLineBytesMax.value;
    const lines = new LineSplitter({ charactersMax }, onLine);
    this.#child[name]?.setEncoding('utf8');
    this.#child[name]?.on('data', (chunk: string) => lines.push(chunk));
    this.#child[name]?.on('end', () => lines.end());
  }
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
