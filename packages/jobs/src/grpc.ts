// The entry point `@syncline/jobs/grpc`: a store backed by a server, and what a server needs to implement the same
// contract. Separate because grpc-js is an optional peer dependency.
export { checkStateWrite, checkWireWrite, type WriteFields } from './checks/checked-write.js';
export { checkTaskId } from './checks/values.js';
export { noSuchJob } from './core/refusals.js';
export { type EncodedEvent, encodeState } from './engine/changes.js';
export {
  type EncodedResult,
  localStore,
  progressWithPayloads,
} from './engine/checked-job-store.js';
export { createRemoteJobStore, type RemoteJobStoreDeps } from './grpc/remote-job-store.js';
export {
  type Call,
  checkRequestBytes,
  type GlobalRequest,
  jobCalls,
  type NumberedAnswer,
  type NumberedWrite,
  SERVICE,
  type SubscribeRequest,
  windowBytesOf,
} from './wire/calls.js';
export { framesOf } from './wire/frames.js';
