// Prints where the server listens: one line of JSON per listener as soon as it accepts connections, or, on a
// terminal, a table with commands to paste once everything is up.
import type { ListeningAddress } from '@syncline/server';
import type { ServerConfig } from '@syncline/server/config';
import type { CliWorld } from '../cli-world.js';
import { paintFor } from '../paint.js';
import { readVersion } from '../version.js';
import { type StatusHintSources, statusHint } from './status-hint.js';

export class Announcer {
  readonly #world: CliWorld;
  readonly #hintSources: StatusHintSources;
  readonly #config: ServerConfig;
  readonly #listeners: ListeningAddress[] = [];

  constructor(
    deps: { readonly world: CliWorld; readonly hintSources: StatusHintSources },
    config: ServerConfig,
  ) {
    this.#world = deps.world;
    this.#hintSources = deps.hintSources;
    this.#config = config;
  }

  readonly listening = ({ listener, host, port }: ListeningAddress): void => {
    this.#listeners.push({ listener, host, port });
    if (this.#world.stdout.isTTY === true) return;
    this.#world.stdout.write(`${JSON.stringify({ listener, host, port })}\n`);
  };

  async ready(): Promise<void> {
    const { stdout, environment } = this.#world;
    if (stdout.isTTY !== true) return;
    const { nodeId, memory, dataDir, credentials } = this.#config;
    const http = this.#listeners.find(({ listener }) => listener === 'http');
    const facts = {
      version: readVersion(),
      nodeId,
      dataDir: memory ? undefined : dataDir,
      isTls: credentials.tls !== undefined,
      hasPassword: credentials.respPassword !== undefined,
      listeners: this.#listeners,
      hint: http && statusHint(http, this.#hintSources),
    };
    const { renderWelcome } = await import('./welcome.js'); // tables of character widths
    stdout.write(renderWelcome(facts, paintFor(stdout, environment)));
  }
}
