// The contract of the jobs as code: the service with its messages as Protobuf-ES reads and writes them, for tests and
// for clients that do without the codec of the jobs, and what reflection serves. All of it comes from
// proto/syncline/jobs/v1/jobs.proto; `npm run proto` regenerates it.
//
// A door of its own, because the runtime of Protobuf is slow to load and no client needs it.
import { toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { file_syncline_jobs_v1_jobs as file } from './generated/syncline/jobs/v1/jobs_pb.js';

export { JobService } from './generated/syncline/jobs/v1/jobs_pb.js';

/** Serialized, as a GrpcService of the server wants them. The file imports no other. */
export function jobsFileDescriptors(): readonly Uint8Array[] {
  return [toBinary(FileDescriptorProtoSchema, file.proto)];
}
