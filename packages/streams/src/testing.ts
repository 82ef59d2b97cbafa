export type { StateStoreAbilities, StateStoreSubject } from './conformance/state-store-subject.js';
export { stateStoreSuite } from './conformance/state-store-suite.js';
