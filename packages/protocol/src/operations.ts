// Operations of the mesh, and what they mean to the sets, as Protobuf-ES reads and writes them: for tests of
// the codecs that do without it. All of it comes from proto/syncline/; `npm run proto` generates it anew.
//
// A door of its own, because the runtime of Protobuf is slow to load and no node needs it.
import { fromBinary } from '@bufbuild/protobuf';
import {
  type Operations as MeshOperations,
  OperationsSchema as MeshOperationsSchema,
} from './generated/syncline/mesh/v1/mesh_pb.js';
import {
  type Change as SetsChange,
  ChangeSchema as SetsChangeSchema,
} from './generated/syncline/sets/v1/sets_pb.js';

export { type MeshOperations, MeshOperationsSchema, type SetsChange, SetsChangeSchema };

/** Throws on bytes that are not the message. */
export function parseMeshOperations(bytes: Uint8Array): MeshOperations {
  return fromBinary(MeshOperationsSchema, bytes);
}

/** Throws on bytes that are not the message. */
export function parseSetsChange(bytes: Uint8Array): SetsChange {
  return fromBinary(SetsChangeSchema, bytes);
}
