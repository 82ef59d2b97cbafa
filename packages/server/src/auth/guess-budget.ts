// Limits wrong passwords and tokens per address, across all listeners and connections: a delay per answer does
// not stop a client that opens thousands of connections.
//
// Each address has a budget of wrong guesses that refills slowly. When it is used up, the address is blocked:
// its requests are refused before the password is checked, including those of other clients at that address.
// IPv6 addresses are counted by their /64, the usual allocation for one customer.
import type { Clock, Logger } from '@syncline/kernel';
import type { LimitWatch } from '../limit-watch.js';
import { serverLimits } from '../limits.js';
import type { ListenerName } from '../listener.js';

const GUESSES_MAX = serverLimits.authGuessesPerAddressMax.value;
const REFILL_MS = serverLimits.authGuessRefillMs.value;
const ADDRESSES_MAX = serverLimits.authAddressesMax.value;

export interface GuessBudgetDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: LimitWatch;
}

interface Guesses {
  /** Fractional, because the budget refills continuously. */
  used: number;
  atMs: number;
  hasLogged: boolean;
}

export class GuessBudget {
  readonly #deps: GuessBudgetDeps;
  /** The address with the oldest guess comes first. */
  readonly #byAddress = new Map<string, Guesses>();

  constructor(deps: GuessBudgetDeps) {
    this.#deps = deps;
  }

  /** Whether the address must wait before its next attempt. */
  isBlocked(address: string | undefined): boolean {
    const guesses = this.#byAddress.get(addressBlock(address));
    return guesses !== undefined && this.#refilled(guesses).used > GUESSES_MAX - 1;
  }

  /** A wrong password or token, or other abuse with a higher weight. */
  failed(listener: ListenerName, address: string | undefined, weight = 1): void {
    const block = addressBlock(address);
    const nowMs = this.#deps.clock.monotonicMs();
    const guesses = this.#refilled(
      this.#byAddress.get(block) ?? { used: 0, atMs: nowMs, hasLogged: false },
    );
    guesses.used = Math.min(GUESSES_MAX, guesses.used + weight);
    this.#byAddress.delete(block);
    this.#byAddress.set(block, guesses);
    const [oldest] = this.#byAddress.keys();
    if (this.#byAddress.size > ADDRESSES_MAX && oldest !== undefined)
      this.#byAddress.delete(oldest);
    if (guesses.used <= GUESSES_MAX - 1) return;
    this.#deps.limits.reached('server', 'authGuessesPerAddressMax');
    if (guesses.hasLogged) return;
    guesses.hasLogged = true;
    this.#deps.logger.warn('too many failed logins; address blocked temporarily', {
      listener,
      address: block,
    });
  }

  #refilled(guesses: Guesses): Guesses {
    const nowMs = this.#deps.clock.monotonicMs();
    guesses.used = Math.max(0, guesses.used - (nowMs - guesses.atMs) / REFILL_MS);
    guesses.atMs = nowMs;
    if (guesses.used === 0) guesses.hasLogged = false;
    return guesses;
  }
}

/** IPv4 in full, including IPv4-mapped IPv6; IPv6 by its first 64 bits. */
export function addressBlock(address = ''): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined || !address.includes(':')) return mapped ?? address;
  const [head = '', tail] = address.replace(/%.*$/, '').split('::');
  const words = head === '' ? [] : head.split(':');
  const tailWords = tail === undefined || tail === '' ? [] : tail.split(':');
  const gap = tail === undefined ? 0 : Math.max(0, 8 - words.length - tailWords.length);
  const all = [...words, ...Array.from({ length: gap }, () => '0'), ...tailWords];
  const prefix = all.slice(0, 4).map((word) => (Number.parseInt(word, 16) || 0).toString(16));
  return `${prefix.join(':')}::/64`;
}
