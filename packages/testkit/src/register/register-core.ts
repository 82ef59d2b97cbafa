// The core of the replicated register: what each node decides, without any I/O.
//
// The register is a sum. Clients add amounts; each node takes additions from its own clients, numbers
// them, and passes them on to the other nodes. Every addition must count exactly once on every node,
// whatever is repeated: a client that got no answer asks again, and a node that reconnects sends again.
// Two identities make that harmless: a client's request number, and a node's counter.
import type { PlantedBug } from './planted-bug.js';

/** One addition, as the node that took it numbered it. */
export interface Update {
  readonly node: string;
  /** 1, 2, 3… per node, without gaps. */
  readonly counter: number;
  readonly client: string;
  readonly request: number;
  readonly amount: number;
}

export type RegisterInput =
  | {
      readonly kind: 'add';
      readonly client: string;
      /** 1, 2, 3… per client. A repeated request has the same number. */
      readonly request: number;
      readonly amount: number;
    }
  /** From another node. */
  | { readonly kind: 'update'; readonly update: Update };

export interface RegisterState {
  readonly total: number;
  /** The last counter applied of each node, this one included. */
  readonly applied: ReadonlyMap<string, number>;
  /** The last request of each of this node's clients. */
  readonly answered: ReadonlyMap<string, number>;
}

export interface Decision {
  readonly state: RegisterState;
  /** `early`: an update before it is missing. It is dropped; its node must send from the gap on. */
  readonly outcome: 'applied' | 'duplicate' | 'early';
  /** What was applied, to be stored. */
  readonly update?: Update;
}

export const emptyRegister: RegisterState = {
  total: 0,
  applied: new Map(),
  answered: new Map(),
};

export interface RegisterCoreOptions {
  readonly node: string;
  readonly bug: PlantedBug | undefined;
}

/** Pure: the state that is handed in is not changed. */
export function decide(
  state: RegisterState,
  input: RegisterInput,
  options: RegisterCoreOptions,
): Decision {
  const update = input.kind === 'update' ? input.update : numbered(state, input, options.node);
  const counter = state.applied.get(update.node) ?? 0;
  const isRepeated =
    input.kind === 'update'
      ? update.counter <= counter
      : update.request <= (state.answered.get(update.client) ?? 0);
  if (isRepeated && options.bug !== 'duplicate-apply') return { state, outcome: 'duplicate' };
  if (update.counter > counter + 1) return { state, outcome: 'early' };
  return { state: apply(state, update, options.node), outcome: 'applied', update };
}

function apply(state: RegisterState, update: Update, node: string): RegisterState {
  const isOwn = update.node === node;
  const counter = Math.max(update.counter, state.applied.get(update.node) ?? 0);
  return {
    total: state.total + update.amount,
    applied: new Map(state.applied).set(update.node, counter),
    answered: isOwn ? new Map(state.answered).set(update.client, update.request) : state.answered,
  };
}

function numbered(
  state: RegisterState,
  input: Extract<RegisterInput, { kind: 'add' }>,
  node: string,
): Update {
  const { client, request, amount } = input;
  return { node, counter: (state.applied.get(node) ?? 0) + 1, client, request, amount };
}
