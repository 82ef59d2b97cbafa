// The bearer token of HTTP and gRPC. Both are compared as SHA-256 and in constant time, so that timing reveals
// neither its content nor its length.
import { createHash, timingSafeEqual } from 'node:crypto';
import { SynclineError } from '@syncline/kernel';
import type { Secret } from '../config/secret.js';

/** True when the value of an `authorization` header carries the token. */
export type TokenCheck = (authorization: string | undefined) => boolean;

const SCHEME = 'bearer ';

/** Without a token everything passes: the configuration allows that on loopback and with mutual TLS. */
export function createTokenCheck(token: Secret | undefined): TokenCheck {
  if (token === undefined) return () => true;
  const expected = digest(token.reveal());
  return (authorization = '') => {
    if (authorization.slice(0, SCHEME.length).toLowerCase() !== SCHEME) return false;
    return timingSafeEqual(digest(authorization.slice(SCHEME.length).trim()), expected);
  };
}

/** For a call that the check refused, with no token, a wrong one, or another scheme. */
export function tokenError(authorization: string | undefined): SynclineError {
  const what =
    authorization === undefined ? 'a bearer token is required' : 'the bearer token is wrong';
  const next = 'Send "authorization: Bearer <token>" with the token in auth.token_file.';
  return new SynclineError('unauthenticated', `${what}. ${next}`);
}

/** For an address that sent too many wrong passwords or tokens. */
export function tooManyGuesses(): SynclineError {
  const message =
    'too many failed logins from this address. Check the token, wait a few seconds and try again.';
  return new SynclineError('throttled', message, {
    details: { limit: 'authGuessesPerAddressMax', retryAfterMs: 3_000 },
  });
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
