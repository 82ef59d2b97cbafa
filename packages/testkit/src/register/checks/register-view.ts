// What a checker sees of one node: its state and every update that it has stored.
import type { RegisterState, Update } from '../register-core.js';

export interface RegisterView {
  readonly node: string;
  readonly state: RegisterState;
  readonly updates: readonly Update[];
}

/** Names a client's request. */
export function requestId({ client, request }: { client: string; request: number }): string {
  return `${client}#${request}`;
}
