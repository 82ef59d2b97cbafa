// The entry point `@syncline/testkit/firestore`: a test of the Firestore store needs nothing else from the testkit,
// and no other test needs to load the emulator.
export type { FirestoreGate, GateFaults } from './firestore/firestore-gate.js';
export {
  startFirestore,
  type TestFirestore,
  type TestFirestoreOptions,
} from './firestore/start-firestore.js';
