// The door of the Firestore store, with the system's clock and randomness as defaults.
import { Firestore, type Settings } from '@google-cloud/firestore';
import {
  createSystemClock,
  createSystemRandom,
  silentLogger,
  silentMetrics,
} from '@syncline/kernel';
import type { JobStore } from '../job-store.js';
import { FirestoreJobStore, type FirestoreJobStoreDeps } from './firestore-job-store.js';
import { checkFirestoreOptions, type FirestoreJobStoreOptions } from './firestore-options.js';

/** Connects at the first call. */
export function createFirestoreJobStore(
  options: FirestoreJobStoreOptions,
  deps: Partial<Omit<FirestoreJobStoreDeps, 'firestore'>> = {},
): JobStore {
  const checked = checkFirestoreOptions(options);
  return new FirestoreJobStore(
    {
      firestore: new Firestore(settingsOf(options)),
      clock: deps.clock ?? createSystemClock(),
      random: deps.random ?? createSystemRandom(),
      logger: deps.logger ?? silentLogger,
      metrics: deps.metrics ?? silentMetrics,
    },
    checked,
  );
}

function settingsOf({ projectId, host, ssl, credentials }: FirestoreJobStoreOptions): Settings {
  return {
    projectId,
    ...(host === undefined ? {} : { host }),
    ...(ssl === undefined ? {} : { ssl }),
    ...(credentials === undefined ? {} : { credentials }),
  };
}
