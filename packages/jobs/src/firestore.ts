// The door `@syncline/jobs/firestore`: only who opens it needs `@google-cloud/firestore`.
export { createFirestoreJobStore } from './firestore/create-firestore-job-store.js';
export type { FirestoreJobStoreDeps } from './firestore/firestore-job-store.js';
export type { FirestoreJobStoreOptions } from './firestore/firestore-options.js';
