// The register's core alone, on links that lose, double and reorder whole messages: a core that
// survives them survives every shell.
import type { MessageLink, SimNode } from '@syncline/kernel/testing';
import { Simulation } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { decide, emptyRegister, type RegisterState, type Update } from './register-core.js';

type Message =
  | { readonly kind: 'update'; readonly update: Update }
  | { readonly kind: 'have'; readonly node: string; readonly counter: number };

const ADDITIONS = 20;
const RESEND_MS = 100;

class CoreOnLinks {
  readonly #name: string;
  readonly #log: Update[] = [];
  readonly #peerHas = new Map<string, number>();
  readonly links = new Map<string, MessageLink<Message>>();
  state: RegisterState = emptyRegister;

  constructor(name: string) {
    this.#name = name;
  }

  add(request: number, amount: number): void {
    const input = { kind: 'add', client: `c-${this.#name}`, request, amount } as const;
    const { state, update } = decide(this.state, input, { node: this.#name, bug: undefined });
    this.state = state;
    if (update !== undefined) this.#log.push(update);
  }

  receive(from: string, message: Message): void {
    if (message.kind === 'have') {
      this.#peerHas.set(from, Math.max(message.counter, this.#peerHas.get(from) ?? 0));
      return;
    }
    this.state = decide(this.state, message, { node: this.#name, bug: undefined }).state;
    const counter = this.state.applied.get(from) ?? 0;
    this.links.get(from)?.send({ kind: 'have', node: this.#name, counter });
  }

  resend(): void {
    for (const [peer, link] of this.links) {
      for (const update of this.#log.slice(this.#peerHas.get(peer) ?? 0)) {
        link.send({ kind: 'update', update });
      }
    }
  }
}

test.each([1, 2, 3, 4, 5])('three cores agree over bad message links (seed %i)', async (seed) => {
  const simulation = new Simulation({ seed });
  const cores = new Map(['n1', 'n2', 'n3'].map((name) => [name, new CoreOnLinks(name)]));
  const nodes = [...cores.keys()].map((name) => simulation.addNode(name, () => {}));
  for (const from of nodes) for (const to of nodes) if (from !== to) connect(from, to);
  simulation.network.adjust({ lossProbability: 0.3, duplicateProbability: 0.3, jitterMs: 400 });

  function connect(from: SimNode, to: SimNode): void {
    const receiver = cores.get(to.name);
    const deliver = (message: Message) => receiver?.receive(from.name, message);
    cores.get(from.name)?.links.set(to.name, simulation.messageLink(from, to, deliver));
  }

  await simulation.run(async () => {
    for (const node of nodes) node.start();
    for (let round = 1; round <= 100; round += 1) {
      for (const core of cores.values()) {
        if (round <= ADDITIONS) core.add(round, round);
        core.resend();
      }
      await simulation.clock.sleep(RESEND_MS);
    }
  });
  const expected = 3 * ((ADDITIONS * (ADDITIONS + 1)) / 2);
  expect([...cores.values()].map(({ state }) => state.total)).toEqual([
    expected,
    expected,
    expected,
  ]);
});
