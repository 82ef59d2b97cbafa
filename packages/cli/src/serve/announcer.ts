// Tells where the server listens: one line of JSON for each listener as soon as it accepts, or, on a
// terminal, a short table with lines to paste once everything is up.
import { type ListeningAddress, readVersion, type ServerConfig } from '@syncline/server';
import type { CliWorld } from '../cli-world.js';
import { paintFor } from '../paint.js';
import { renderWelcome } from './welcome.js';

export class Announcer {
  readonly #world: CliWorld;
  readonly #config: ServerConfig;
  readonly #listeners: ListeningAddress[] = [];

  constructor(deps: { readonly world: CliWorld }, config: ServerConfig) {
    this.#world = deps.world;
    this.#config = config;
  }

  readonly listening = ({ listener, host, port }: ListeningAddress): void => {
    this.#listeners.push({ listener, host, port });
    if (this.#world.stdout.isTTY === true) return;
    this.#world.stdout.write(`${JSON.stringify({ listener, host, port })}\n`);
  };

  ready(): void {
    const { stdout, environment } = this.#world;
    if (stdout.isTTY !== true) return;
    const { nodeId, memory, dataDir, credentials } = this.#config;
    const facts = {
      version: readVersion(),
      nodeId,
      dataDir: memory ? undefined : dataDir,
      isTls: credentials.tls !== undefined,
      listeners: this.#listeners,
    };
    stdout.write(renderWelcome(facts, paintFor(stdout, environment)));
  }
}
