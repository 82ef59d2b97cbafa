// One client of the node: a RESP session without a socket. It sends random commands, some pipelined and split anywhere,
// and records what it sent, what it received, and what was stored at both moments.
import { assert, type Clock } from '@syncline/kernel';
import type { SeededRandom } from '@syncline/kernel/testing';
import type { RespSession, Sets } from '@syncline/sets';
import { encodeCommand, RespReplies, type RespReply } from '@syncline/sets/testing';
import {
  type RandomCommand,
  RandomCommands,
  type RandomCommandsOptions,
} from './random-commands.js';
import type { Sent, SetsHistory } from './sets-history.js';

/** Errors that a node may reply with: about its disk, its start or stop, or a broken pin. */
const REFUSALS =
  /^(MISCONF|LOADING|ERR server is shutting down|EXECABORT|ERR Background save already|\w+ the sets changed too much)/;
const RECONNECT_MS_MAX = 100;

export interface SetClientDeps {
  readonly sets: Sets;
  readonly history: SetsHistory;
  readonly clock: Clock;
  readonly random: SeededRandom;
  /** False once the process has ended: what it still writes is dropped. */
  readonly isAlive: () => boolean;
  /** False once nothing more is to be sent. */
  readonly isWanted: () => boolean;
}

export interface SetClientOptions extends RandomCommandsOptions {
  /** The maximum number of commands sent at once. */
  readonly pipelineMax: number;
  readonly betweenMsMax: number;
}

/** Reconnects whenever the node has closed the connection. */
export async function runClient(deps: SetClientDeps, options: SetClientOptions): Promise<void> {
  while (deps.isWanted()) {
    await new Connection(deps, options).run();
    await deps.clock.sleep(deps.random.float() * RECONNECT_MS_MAX);
  }
}

class Connection {
  readonly #deps: SetClientDeps;
  readonly #options: SetClientOptions;
  readonly #session: RespSession;
  readonly #commands: RandomCommands;
  readonly #sent: Sent[] = [];
  readonly #replies = new RespReplies();
  /** Replies so far to the next command to be answered. */
  #gathered: RespReply[] = [];
  #answeredCount = 0;
  #isEnded = false;
  #wake: () => void = () => {};

  constructor(deps: SetClientDeps, options: SetClientOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#commands = new RandomCommands(deps.random, options);
    deps.history.life.connections.push(this.#sent);
    const gone = new AbortController();
    const end = () => {
      this.#isEnded = true;
      this.#wake();
    };
    this.#session = deps.sets.connect({
      address: { host: '127.0.0.1', port: 1 },
      loopback: true,
      gone: gone.signal,
      cut: () => {
        gone.abort();
        end();
      },
    });
    this.#session.writeTo({
      write: (chunk) => {
        const isRead = deps.isAlive() && !this.#isEnded;
        for (const reply of isRead ? this.#replies.push(chunk) : []) this.#answered(reply);
        this.#wake();
        return true;
      },
      drained: () => Promise.resolve(),
      end,
    });
  }

  async run(): Promise<void> {
    const { clock, random, isWanted } = this.#deps;
    const { pipelineMax, betweenMsMax } = this.#options;
    while (isWanted() && !this.#isEnded) {
      this.#send(1 + Math.floor(random.float() * pipelineMax));
      while (this.#answeredCount < this.#sent.length && !this.#isEnded) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
      await clock.sleep(random.float() ** 3 * betweenMsMax);
    }
  }

  #send(count: number): void {
    const { history, random } = this.#deps;
    const commands = Array.from({ length: count }, () => this.#commands.next());
    for (const command of commands) this.#sent.push(history.sending(command));
    const bytes = Buffer.concat(commands.flatMap(wholeOf).map(encodeCommand));
    const cut = Math.floor(random.float() * bytes.length);
    void this.#session.push(bytes.subarray(0, cut));
    void this.#session.push(bytes.subarray(cut));
  }

  #answered(reply: RespReply): void {
    const sent = this.#sent[this.#answeredCount];
    assert(sent !== undefined, 'S20: a reply without a command');
    const isExpected = reply.type !== '-' || REFUSALS.test(reply.text ?? '');
    assert(isExpected, `${sent.words.join()} got ${reply.text}`);
    this.#gathered.push(reply);
    if (this.#gathered.length < wholeOf(sent).length) return;
    this.#deps.history.answered(sent, this.#gathered);
    this.#gathered = [];
    this.#answeredCount += 1;
  }
}

function wholeOf({ words, isTransaction }: RandomCommand): readonly (readonly string[])[] {
  return isTransaction ? [['MULTI'], ...words, ['EXEC']] : words;
}
