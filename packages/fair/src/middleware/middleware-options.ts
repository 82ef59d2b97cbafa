// Options of all middleware, with the names that other limiters use: keyGenerator, skip, handler.
//
// `keyGenerator`, `skip` and `cost` may return a promise. If one of them throws, the framework handles the
// error: the request is neither served nor counted, and the error keeps its status. Admitting it instead would
// let anyone who can make them throw bypass the throttle.
import { type Logger, refuseUnknownOptions } from '@syncline/kernel';
import type { FairTracker } from '../fair-tracker.js';
import type { FlowKey } from '../flow-key.js';
import type { Outcome } from '../outcome.js';
import { refuseUnless } from '../tuning.js';

type MaybePromise<T> = T | Promise<T>;

/** Without a key the request is admitted and counted as untracked. */
export type KeyGenerator<Asked extends readonly unknown[]> = (
  ...asked: Asked
) => MaybePromise<FlowKey | null | undefined>;

/** A number, or what a request costs: see `register`. */
export type RequestCost<Asked extends readonly unknown[]> =
  | number
  | ((...asked: Asked) => MaybePromise<number>);

export interface MiddlewareOptions<
  Asked extends readonly unknown[],
  Answered extends readonly unknown[],
> {
  /** Identifies the caller. Default: the address of the peer, IPv6 cut to /56. */
  readonly keyGenerator?: KeyGenerator<Asked>;
  /** How many requests this one counts as, in (0, 1000]. Default 1. */
  readonly cost?: RequestCost<Asked>;
  /** Requests to bypass: neither throttled nor counted. Default: none. */
  readonly skip?: (...asked: Asked) => MaybePromise<boolean>;
  /** Whether the protected resource was available. Default: by status. If it throws, the outcome is ignored. */
  readonly classifyOutcome?: (...answered: Answered) => Outcome;
  /**
   * Receives errors that can no longer be sent in an answer, such as a `classifyOutcome` that threw. Default: a
   * Node warning.
   */
  readonly logger?: Pick<Logger, 'error'>;
}

export interface HttpMiddlewareOptions<
  Asked extends readonly unknown[],
  Answered extends readonly unknown[],
> extends MiddlewareOptions<Asked, Answered> {
  /** Of a rejection. Default 429; 503 blames the service instead of the caller. */
  readonly statusCode?: 429 | 503;
  /** Adds `RateLimit: "fair";r=0;t=…` to a rejection. Default false. */
  readonly standardHeaders?: boolean;
}

/** Of any middleware; the last four are for Fastify, and its own. */
const NAMES = {
  keyGenerator: true,
  cost: true,
  skip: true,
  classifyOutcome: true,
  handler: true,
  logger: true,
  statusCode: true,
  standardHeaders: true,
  unavailableIsFailure: true,
  tracker: true,
  prefix: true,
  logLevel: true,
  logSerializers: true,
} as const;

const FUNCTIONS = ['keyGenerator', 'skip', 'classifyOutcome', 'handler'] as const;

/** It may be of another copy of this package, or a test's own. */
export function checkTracker(value: unknown): void {
  const { register, report } = (value ?? {}) as Partial<Record<keyof FairTracker, unknown>>;
  refuseUnless(typeof register === 'function' && typeof report === 'function', 'tracker', {
    value: value instanceof Object ? `of type ${typeof value}` : value,
    wanted: 'the result of createFairTracker',
  });
}

/** Reports at construction what would otherwise fail on each request in plain JavaScript. */
export function checkMiddlewareOptions(options: object): void {
  const given = options as Readonly<Record<string, unknown>>;
  refuseUnknownOptions(options, 'the middleware', NAMES);
  for (const field of FUNCTIONS) {
    const value = given[field];
    const isFunction = value === undefined || typeof value === 'function';
    refuseUnless(isFunction, field, { value, wanted: 'a function' });
  }
  const { cost = 1, statusCode = 429 } = given;
  const isCost = typeof cost === 'number' || typeof cost === 'function';
  refuseUnless(isCost, 'cost', { value: cost, wanted: 'a number or a function' });
  const isStatus = statusCode === 429 || statusCode === 503;
  refuseUnless(isStatus, 'statusCode', { value: statusCode, wanted: '429 or 503' });
}
