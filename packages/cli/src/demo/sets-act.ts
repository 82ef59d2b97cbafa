// Writes to sets on all nodes, before and during a partition. Every node keeps accepting writes, and when the link
// is restored, all nodes have the same members and no acknowledged write is missing.
import { connect, type Socket } from 'node:net';
import { SynclineError } from '@syncline/kernel';
import { type Act, type Stage, until } from './demo-stage.js';

const SETS = ['demo:visitors', 'demo:carts', 'demo:devices'];
const NODES = [1, 2, 3];
const BATCH = 100;

export const setsAct: Act = {
  name: 'sets',
  title: 'writes on all nodes, through a partition',
  async play(stage) {
    const { cluster, isFast } = stage;
    const perPhase = isFast ? 1_000 : 2_000;
    const clients = await Promise.all(
      NODES.map((node) => RespClient.open(cluster.listening(node, 'resp'))),
    );
    const written = new Map(SETS.map((set) => [set, new Set<string>()]));
    const removed = new Map(SETS.map((set) => [set, new Set<string>()]));
    try {
      await until('the nodes to see each other', stage, () => allConnected(stage, 2));
      await stage.narrate('Writers add members on all three nodes at once.', '/sets');
      await addOnAll(stage, clients, written, { phase: 'before', perPhase });
      cluster.cutOff(3);
      await until('node 3 to be cut off', stage, () => peersDown(stage));
      await stage.narrate('Node 3 is cut off. Both sides keep accepting writes.', '/sets');
      await addOnAll(stage, clients, written, { phase: 'during', perPhase });
      await removeSome(clients, written, removed);
      await stage.narrate(
        'Meanwhile, some members are removed on node 1. Node 3 does not know yet.',
      );
      cluster.restoreLinks();
      await stage.narrate('The link is back. Each node finds out what it has missed.', '/sets');
      const members = await until('equal digests', stage, () => equalDigests(stage));
      const missing = await countMissing(clients, written, removed);
      stage.check(
        missing === 0,
        `all three nodes hold the same ${members.toLocaleString('en-US')} members; none of the acknowledged writes is missing`,
        { members, missing },
      );
    } finally {
      for (const client of clients) client.close();
    }
  },
};

type Members = ReadonlyMap<string, Set<string>>;

async function addOnAll(
  stage: Stage,
  clients: readonly RespClient[],
  written: Members,
  { phase, perPhase }: { readonly phase: string; readonly perPhase: number },
): Promise<void> {
  const write = async (client: RespClient, node: number): Promise<void> => {
    for (let first = 0; first < perPhase; first += BATCH) {
      stage.signal.throwIfAborted();
      for (const [set, members] of written) {
        const added = Array.from({ length: BATCH }, (_, at) => `${phase}-${node}-${first + at}`);
        await client.call('SADD', set, ...added); // an error rejects, so only acknowledged writes count
        for (const member of added) members.add(member);
      }
    }
  };
  await Promise.all(clients.map((client, at) => write(client, at + 1)));
}

/**
 * Removes members that were added on node 1. They are removed on the same node, so no concurrent add can bring
 * them back.
 */
async function removeSome(
  clients: readonly RespClient[],
  written: Members,
  removed: Members,
): Promise<void> {
  for (const [set, members] of written) {
    const gone = [...members].filter((member) => member.startsWith('before-1-')).slice(0, 100);
    await clients[0]?.call('SREM', set, ...gone);
    for (const member of gone) {
      members.delete(member);
      removed.get(set)?.add(member);
    }
  }
}

async function countMissing(
  clients: readonly RespClient[],
  written: Members,
  removed: Members,
): Promise<number> {
  let missing = 0;
  for (const client of clients) {
    for (const [list, wanted] of [
      [written, 1],
      [removed, 0],
    ] as const) {
      for (const [set, members] of list) {
        if (members.size === 0) continue;
        const flags = await client.call('SMISMEMBER', set, ...members);
        missing += (flags as readonly number[]).filter((flag) => flag !== wanted).length;
      }
    }
  }
  return missing;
}

interface SetsFacts {
  readonly version: string;
  readonly liveDots: number;
  readonly xor: string;
}

/** The number of members once all nodes have equal digests. */
async function equalDigests({ cluster }: Stage): Promise<number | undefined> {
  const facts = await Promise.all(
    NODES.map(
      async (node) => (await (await fetch(cluster.url(node, '/api/sets'))).json()) as SetsFacts,
    ),
  );
  const digests = new Set(
    facts.map(({ version, liveDots, xor }) => `${version} ${liveDots} ${xor}`),
  );
  return digests.size === 1 ? facts[0]?.liveDots : undefined;
}

async function statesOf(stage: Stage, node: number): Promise<readonly string[]> {
  const response = await fetch(stage.cluster.url(node, '/api/status'));
  const { peers } = (await response.json()) as {
    readonly peers: readonly { readonly state: string }[];
  };
  return peers.map(({ state }) => state);
}

async function allConnected(stage: Stage, peersCount: number): Promise<true | undefined> {
  for (const node of NODES) {
    const connected = (await statesOf(stage, node)).filter((state) => state === 'connected');
    if (connected.length < peersCount) return undefined;
  }
  return true;
}

async function peersDown(stage: Stage): Promise<true | undefined> {
  const states = await statesOf(stage, 3);
  return states.every((state) => state === 'down' || state === 'connecting') ? true : undefined;
}

type Reply = number | string | null | readonly Reply[];

/** Just enough of a Redis client for this act: one command at a time. */
class RespClient {
  readonly #socket: Socket;
  #buffer = '';
  #waiting: { resolve(reply: Reply): void; reject(error: unknown): void } | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => this.#take(chunk));
    const fail = (): void => this.#waiting?.reject(lostConnection());
    socket.on('close', fail);
    socket.on('error', fail);
  }

  static async open({
    host,
    port,
  }: {
    readonly host: string;
    readonly port: number;
  }): Promise<RespClient> {
    const socket = connect({ host, port });
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    return new RespClient(socket);
  }

  call(...args: readonly string[]): Promise<Reply> {
    const parts = args.map((arg) => `$${Buffer.byteLength(arg)}\r\n${arg}\r\n`);
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      if (this.#socket.destroyed) reject(lostConnection());
      else this.#socket.write(`*${args.length}\r\n${parts.join('')}`);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(chunk: string): void {
    this.#buffer += chunk;
    const parsed = parseReply(this.#buffer, 0);
    if (parsed === undefined) return;
    this.#buffer = this.#buffer.slice(parsed.end);
    const { reply } = parsed;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (reply instanceof Error) waiting?.reject(reply);
    else waiting?.resolve(reply);
  }
}

function lostConnection(): SynclineError {
  return new SynclineError('unavailable', 'the demo lost its connection to a node.');
}

/** Undefined if the reply is incomplete. Supports integers, errors and arrays, which is all that the act needs. */
function parseReply(
  text: string,
  start: number,
): { readonly reply: Reply | SynclineError; readonly end: number } | undefined {
  const lineEnd = text.indexOf('\r\n', start);
  if (lineEnd < 0) return undefined;
  const line = text.slice(start + 1, lineEnd);
  const end = lineEnd + 2;
  switch (text[start]) {
    case ':':
      return { reply: Number(line), end };
    case '*': {
      const items: Reply[] = [];
      let position = end;
      for (let at = 0; at < Number(line); at += 1) {
        const item = parseReply(text, position);
        if (item === undefined) return undefined;
        if (item.reply instanceof SynclineError) return item;
        items.push(item.reply);
        position = item.end;
      }
      return { reply: items, end: position };
    }
    default:
      return {
        reply: new SynclineError('invalid-argument', `unexpected reply from a node: ${line}`),
        end,
      };
  }
}
