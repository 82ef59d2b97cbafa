// The contract of the state service as code: what reflection serves, and the schemas from which tests and
// clients without the hand-written codec make their messages. All of it comes from
// proto/fair/state/v1/state.proto; `npm run proto` generates it anew.
//
// A door of its own: the runtime of Protobuf takes longer to load than all else that a client needs, and
// no client needs it.
import { toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { file_fair_state_v1_state as file } from './generated/fair/state/v1/state_pb.js';

export {
  StateService as FairStateServiceDescriptor,
  type SyncRequest as FairSyncRequest,
  SyncRequestSchema as FairSyncRequestSchema,
  type SyncResponse as FairSyncResponse,
  SyncResponseSchema as FairSyncResponseSchema,
} from './generated/fair/state/v1/state_pb.js';

/** Serialized, as a GrpcService of the server wants them. The file imports no other. */
export function fairStateFileDescriptors(): readonly Uint8Array[] {
  return [toBinary(FileDescriptorProtoSchema, file.proto)];
}
