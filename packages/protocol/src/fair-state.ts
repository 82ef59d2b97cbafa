// The contract of the state service as code: what reflection serves, and messages as Protobuf-ES reads
// them, for tests and for clients that do without the codec of the fair slice. All of it comes from
// proto/fair/state/v1/state.proto; `npm run proto` regenerates it.
//
// A door of its own: the runtime of Protobuf takes longer to load than all else that a client needs, and
// no client needs it.
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import {
  type SyncRequest as FairSyncRequest,
  SyncRequestSchema as FairSyncRequestSchema,
  type SyncResponse as FairSyncResponse,
  SyncResponseSchema as FairSyncResponseSchema,
  file_fair_state_v1_state as file,
} from './generated/fair/state/v1/state_pb.js';

export {
  type FairSyncRequest,
  FairSyncRequestSchema,
  type FairSyncResponse,
  FairSyncResponseSchema,
};

/** Serialized, as a GrpcService of the server wants them. The file imports no other. */
export function fairStateFileDescriptors(): readonly Uint8Array[] {
  return [toBinary(FileDescriptorProtoSchema, file.proto)];
}

/** Throws on bytes that are not the message. */
export function parseFairSyncRequest(bytes: Uint8Array): FairSyncRequest {
  return fromBinary(FairSyncRequestSchema, bytes);
}

/** Throws on bytes that are not the message. */
export function parseFairSyncResponse(bytes: Uint8Array): FairSyncResponse {
  return fromBinary(FairSyncResponseSchema, bytes);
}
