// Checks a password for AUTH and HELLO, and marks the connection. The only user is `default`.
import type { CommandContext } from '../command.js';

export const DEFAULT_USER = 'default';

/** A promise where guessing has become slow. Without a password everything is right for `default`. */
export function authenticate(
  { client, facts }: CommandContext,
  user: string,
  password: Uint8Array,
): boolean | Promise<boolean> {
  const { checkPassword } = facts;
  if (checkPassword === undefined) return user === DEFAULT_USER;
  const isRight = checkPassword(client, user, password);
  const note = (right: boolean) => {
    if (right) client.isAuthenticated = true;
    return right;
  };
  return typeof isRight === 'boolean' ? note(isRight) : isRight.then(note);
}
