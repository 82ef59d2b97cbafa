import { expect, test } from 'vitest';
import { problemAnswer, rejectionOf } from './http-rejection.js';

const decision = { throttled: true, wouldThrottle: true, retryAfterMs: 7_000 };

test('a rejection says how long to wait and why, and states no quota', () => {
  const { headers, body } = problemAnswer(rejectionOf(decision, {}));
  expect(headers).toEqual({ 'Retry-After': '7', 'Content-Type': 'application/problem+json' });
  expect(JSON.parse(body)).toEqual({
    type: 'https://iana.org/assignments/http-problem-types#abnormal-usage-detected',
    title: 'throttled',
    status: 429,
    detail: 'This caller takes more than its fair share. Try again in 7 s.',
    code: 'throttled',
    retryable: true,
    outcome: 'not-applied',
    details: { retryAfterMs: 7_000 },
  });
});

test('with 503 the message blames the service', () => {
  const { statusCode, problem } = rejectionOf(decision, { statusCode: 503 });
  expect(statusCode).toBe(503);
  expect(problem).toMatchObject({
    type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
    status: 503,
    detail: 'The service has no capacity for this caller now. Try again in 7 s.',
  });
});

test('standardHeaders repeats the wait as RateLimit', () => {
  const { headers } = rejectionOf(decision, { standardHeaders: true });
  expect(headers).toEqual({ 'Retry-After': '7', RateLimit: '"fair";r=0;t=7' });
});
