// The contract of the jobs as code: messages as Protobuf-ES reads and writes them, the service for whoever calls
// or serves it, and what reflection serves. All of it comes from proto/syncline/jobs/v1/jobs.proto;
// `npm run proto` generates it anew.
//
// A door of its own, because the runtime of Protobuf is slow to load. Messages that share their name with a type
// of `@syncline/jobs` are called Wire… here: the two differ in how they hold large numbers and absent fields.
import { toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { file_syncline_jobs_v1_jobs as file } from './generated/syncline/jobs/v1/jobs_pb.js';

export {
  type Counts as WireCounts,
  type CreateJobRequest,
  CreateJobRequestSchema,
  CreateJobResponseSchema,
  DeleteJobRequestSchema,
  DeleteJobResponseSchema,
  Durability as WireDurability,
  GapReason as WireGapReason,
  GetJobRequestSchema,
  GetJobResponseSchema,
  GetProgressRequestSchema,
  GetProgressResponseSchema,
  GetStateRequestSchema,
  GetStateResponseSchema,
  type HeartbeatRequest,
  HeartbeatRequestSchema,
  HeartbeatResponseSchema,
  History as WireHistory,
  type Job as WireJob,
  type JobEvent as WireJobEvent,
  JobEventSchema,
  JobSchema,
  JobService,
  type Lease as WireLease,
  LeaseAction as WireLeaseAction,
  LeaseSchema,
  LeaseState as WireLeaseState,
  type ListJobsRequest,
  ListJobsRequestSchema,
  ListJobsResponseSchema,
  ListStatesRequestSchema,
  ListStatesResponseSchema,
  MarkJobDeletedRequestSchema,
  MarkJobDeletedResponseSchema,
  Overflow as WireOverflow,
  type Progress as WireProgress,
  ProgressSchema,
  type Scope as WireScope,
  type SetStateRequest,
  SetStateRequestSchema,
  SetStateResponseSchema,
  type State as WireState,
  StateSchema,
  StatusClass as WireStatusClass,
  type SubscribeRequest,
  SubscribeRequestSchema,
  SubscribeResponseSchema,
  UpdateJobRequestSchema,
  UpdateJobResponseSchema,
} from './generated/syncline/jobs/v1/jobs_pb.js';

/** Serialized, as a GrpcService of the server wants them. The file imports no other. */
export function jobsFileDescriptors(): readonly Uint8Array[] {
  return [toBinary(FileDescriptorProtoSchema, file.proto)];
}
