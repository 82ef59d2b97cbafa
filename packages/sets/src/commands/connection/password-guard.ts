// Checks passwords and slows down guessing.
//
// Digests are compared, in constant time, so that neither the length nor the first different byte of the password
// can be measured. Wrong passwords are counted per address; after a few of them every answer to that address is
// delayed, also the one to the right password, which resets the count.
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Clock } from '@syncline/kernel';
import { setsLimits } from '../../limits.js';
import type { Client } from '../client.js';

/** The only user. */
export const DEFAULT_USER = 'default';

const guessesMax = setsLimits.passwordGuessesMax.value;
const guessersMax = setsLimits.guessersMax.value;
const delayMs = setsLimits.passwordDelayMs.value;

export interface PasswordGuardDeps {
  readonly clock: Clock;
}

export interface PasswordGuardOptions {
  readonly password: string;
}

export class PasswordGuard {
  readonly #clock: Clock;
  readonly #digest: Uint8Array;
  /** Wrong passwords by host, the host with the most recent one last. */
  readonly #guesses = new Map<string, number>();

  constructor({ clock }: PasswordGuardDeps, { password }: PasswordGuardOptions) {
    this.#clock = clock;
    this.#digest = digestOf(Buffer.from(password));
  }

  /** A promise once this address has sent too many wrong ones. */
  check(client: Client, user: string, password: Uint8Array): boolean | Promise<boolean> {
    const { host } = client.address;
    const isPassword = timingSafeEqual(digestOf(password), this.#digest);
    const isRight = isPassword && user === DEFAULT_USER;
    const guesses = this.#guesses.get(host) ?? 0;
    if (isRight) this.#guesses.delete(host);
    else this.#count(host, guesses + 1);
    const isLate = guesses >= guessesMax;
    return isLate ? this.#clock.sleep(delayMs, client.gone).then(() => isRight) : isRight;
  }

  #count(host: string, guesses: number): void {
    this.#guesses.delete(host);
    this.#guesses.set(host, guesses);
    if (this.#guesses.size <= guessersMax) return;
    for (const oldest of this.#guesses.keys()) {
      this.#guesses.delete(oldest);
      return;
    }
  }
}

function digestOf(bytes: Uint8Array): Uint8Array {
  return createHash('sha256').update(bytes).digest();
}
