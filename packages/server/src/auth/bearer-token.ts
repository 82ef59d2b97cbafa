// The bearer token of HTTP and gRPC. SHA-256 digests are compared in constant time, so that timing reveals
// neither the content nor the length of the token.
import { createHash, timingSafeEqual } from 'node:crypto';
import { SynclineError } from '@syncline/kernel';
import type { Secret } from '../config/secret.js';

/** True when the value of an `authorization` header carries the token. */
export type TokenCheck = (authorization: string | undefined) => boolean;

const SCHEME = 'bearer ';

/** If no token is configured, every request passes. The configuration allows that on loopback and with mutual TLS. */
export function createTokenCheck(token: Secret | undefined): TokenCheck {
  if (token === undefined) return () => true;
  const expected = digest(token.reveal());
  return (authorization = '') => {
    if (authorization.slice(0, SCHEME.length).toLowerCase() !== SCHEME) return false;
    return timingSafeEqual(digest(authorization.slice(SCHEME.length).trim()), expected);
  };
}

/** For a request with no token, a wrong token or another scheme. */
export function tokenError(authorization: string | undefined): SynclineError {
  const what =
    authorization === undefined ? 'a bearer token is required' : 'the bearer token is wrong';
  const next =
    'Send "authorization: Bearer <token>" with the token in auth.token_file, or set the option "token" of a TypeScript client.';
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
