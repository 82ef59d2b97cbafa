// The entry point `@syncline/jobs/firestore`. Only its users need `@google-cloud/firestore`.
export {
  createFirestoreJobStore,
  type FirestoreJobStoreDeps,
  type FirestoreJobStoreOptions,
} from './firestore/firestore-job-store.js';
