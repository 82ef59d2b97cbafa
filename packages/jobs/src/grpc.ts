// The door `@syncline/jobs/grpc`: jobs of a server as a store, and what a server needs to speak the same contract.
// grpc-js is an optional peer, so it has a door of its own.
export { checkWireWrite } from './checks/checked-write.js';
export { progressWithPayloads } from './engine/engine-job-store.js';
export type { EncodedEvent } from './engine/feed-event.js';
export { encodeState } from './engine/stored-change.js';
export { createRemoteJobStore, type RemoteJobStoreDeps } from './grpc/create-remote-job-store.js';
export {
  type Call,
  createJob,
  type DeleteJobRequest,
  deleteJob,
  type GlobalRequest,
  type GlobalResponse,
  getJob,
  getProgress,
  getState,
  heartbeat,
  type ListJobsRequest,
  listJobs,
  listStates,
  markJobDeleted,
  SERVICE,
  type SetStateRequest,
  type SetStateResponse,
  type SubscribeRequest,
  setState,
  setStates,
  subscribe,
  type UpdateJobRequest,
  updateJob,
} from './wire/calls.js';
export { encodedCalls } from './wire/encoded-calls.js';
export { FrameCache } from './wire/frame-writer.js';
export { labelsOf } from './wire/job-messages.js';
export { decode, encode } from './wire/proto-message.js';
export {
  decodeWrites,
  encodeAnswers,
  type NumberedAnswer,
  type NumberedWrite,
  windowBytesOf,
} from './wire/write-messages.js';
