// What a user may set of the Firestore store, with the defaults.
import type { BackoffOptions } from '@syncline/kernel';
import { checkInteger } from '../checks/numbers.js';
import { checkReconnect } from '../checks/reconnect-input.js';
import { refuseUnless } from '../checks/refuse.js';
import type { ReconnectOptions } from '../reconnect.js';

export interface FirestoreJobStoreOptions {
  /** Required and never inferred: jobs of one project must not end up in another. */
  readonly projectId: string;
  /** Calls to Firestore that may be under way at once. Default: no bound. */
  readonly concurrencyMax?: number;
  /** When to listen again after the connection was lost, and when to give up. */
  readonly reconnect?: ReconnectOptions;
  /** While listening, how often the job document is read to see whether the listener still lives. Default 15,000. */
  readonly pollMs?: number;
  /** How long the listener may be behind the job document before it counts as dead. Default 5,000. */
  readonly reachTimeoutMs?: number;
  /** How long the first snapshot may take, which reads every state of the job. Default 60,000. */
  readonly startTimeoutMs?: number;
  /** How long one call may take, in ms. Default 10,000. */
  readonly callTimeoutMs?: number;
  /** How long listening goes on when nobody needs it, in ms. Default 30,000: a listener's start reads every state. */
  readonly listenIdleMs?: number;
  /** A server that stands for Firestore, such as an emulator: `host:port`. Default: Firestore. */
  readonly host?: string;
  /** False for a server without TLS. Default true. */
  readonly ssl?: boolean;
  /** Default: those of the environment, as the client finds them. */
  readonly credentials?: { readonly client_email: string; readonly private_key: string };
}

export interface CheckedFirestoreOptions {
  readonly projectId: string;
  readonly concurrencyMax: number;
  readonly reconnect: Required<ReconnectOptions>;
  readonly contention: BackoffOptions & { readonly attempts: number };
  readonly pollMs: number;
  readonly reachTimeoutMs: number;
  readonly startTimeoutMs: number;
  readonly callTimeoutMs: number;
  readonly listenIdleMs: number;
}

/** A transaction takes tens of milliseconds, so whoever was overtaken is soon next. */
const CONTENTION = { attempts: 20, initialMs: 50, maxMs: 1_000 };
const DAY_MS = 86_400_000;

export function checkFirestoreOptions(options: FirestoreJobStoreOptions): CheckedFirestoreOptions {
  const { projectId, reconnect, concurrencyMax } = options;
  refuseUnless(typeof projectId === 'string' && projectId !== '', 'projectId', {
    value: projectId,
    wanted: 'the project of the Firestore database; it is never taken from the environment',
  });
  return {
    projectId,
    concurrencyMax:
      concurrencyMax === undefined
        ? Number.POSITIVE_INFINITY
        : checkInteger(concurrencyMax, 'concurrencyMax', { min: 1, max: 1_000_000 }),
    reconnect: checkReconnect(reconnect),
    contention: CONTENTION,
    pollMs: checkMs('pollMs', options.pollMs ?? 15_000),
    reachTimeoutMs: checkMs('reachTimeoutMs', options.reachTimeoutMs ?? 5_000),
    startTimeoutMs: checkMs('startTimeoutMs', options.startTimeoutMs ?? 60_000),
    callTimeoutMs: checkMs('callTimeoutMs', options.callTimeoutMs ?? 10_000),
    listenIdleMs: checkMs('listenIdleMs', options.listenIdleMs ?? 30_000),
  };
}

function checkMs(field: string, value: number): number {
  return checkInteger(value, field, { min: 1, max: DAY_MS });
}
