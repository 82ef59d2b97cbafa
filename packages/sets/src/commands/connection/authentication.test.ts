import { createSystemClock } from '@syncline/kernel';
import { expect, test } from 'vitest';
import { setsLimits } from '../../limits.js';
import type { Client } from '../client.js';
import { PasswordGuard } from './authentication.js';

const guessersMax = setsLimits.guessersMax.value;
const wrong = Buffer.from('wrong');

/** No one is waiting for the late replies: the clients are gone. */
function clientAt(host: string): Client {
  return { address: { host, port: 1 }, gone: AbortSignal.abort() } as unknown as Client;
}

function guessFrom(guard: PasswordGuard, host: string): 'now' | 'late' {
  const answer = guard.check(clientAt(host), 'default', wrong);
  if (typeof answer === 'boolean') return 'now';
  answer.catch(() => {});
  return 'late';
}

function guardAfterFourGuesses(): PasswordGuard {
  const guard = new PasswordGuard(createSystemClock(), 'right');
  for (let guess = 0; guess < 4; guess += 1) expect(guessFrom(guard, 'first')).toBe('now');
  return guard;
}

test('addresses are counted up to a limit, and the oldest is forgotten first', () => {
  const nearly = guardAfterFourGuesses();
  for (let host = 1; host < guessersMax; host += 1) guessFrom(nearly, `${host}`);
  expect(guessFrom(nearly, 'first')).toBe('late');
  const full = guardAfterFourGuesses();
  for (let host = 0; host < guessersMax; host += 1) guessFrom(full, `${host}`);
  expect(guessFrom(full, 'first')).toBe('now');
});

test('the password is right for one user only, byte for byte', () => {
  const guard = new PasswordGuard(createSystemClock(), 'päss');
  const check = (user: string, password: string) =>
    guard.check(clientAt('one'), user, Buffer.from(password));
  expect(check('default', 'päss')).toBe(true);
  expect(check('Default', 'päss')).toBe(false);
  expect(check('default', 'päs')).toBe(false);
  expect(check('default', '')).toBe(false);
  expect(guard.check(clientAt('one'), 'default', Buffer.from('päss', 'latin1'))).toBe(false);
});
