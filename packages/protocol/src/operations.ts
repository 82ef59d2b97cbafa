// Frames and operations of the mesh, and what they mean to the sets, as Protobuf-ES reads and writes them: for tests
// of the codecs that do without it. All of it comes from proto/syncline/; `npm run proto` regenerates it.
//
// A door of its own, because the runtime of Protobuf is slow to load and no node needs it.
import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import {
  type Frame,
  FrameSchema,
  type Operations,
  OperationsSchema,
} from './generated/syncline/mesh/v1/mesh_pb.js';
import { type Change, ChangeSchema } from './generated/syncline/sets/v1/sets_pb.js';

export type MeshFrame = Frame;
export type MeshOperations = Operations;
export type SetsChange = Change;

/** Throws on bytes that are not the message. */
export function parseMeshFrame(bytes: Uint8Array): MeshFrame {
  return fromBinary(FrameSchema, bytes);
}

export function encodeMeshFrame(fields: MessageInitShape<typeof FrameSchema>): Uint8Array {
  return toBinary(FrameSchema, create(FrameSchema, fields), knownFields);
}

/** Throws on bytes that are not the message. */
export function parseMeshOperations(bytes: Uint8Array): MeshOperations {
  return fromBinary(OperationsSchema, bytes);
}

/** Throws on bytes that are not the message. */
export function parseSetsChange(bytes: Uint8Array): SetsChange {
  return fromBinary(ChangeSchema, bytes);
}

export function encodeMeshOperations(
  fields: MessageInitShape<typeof OperationsSchema>,
): Uint8Array {
  return toBinary(OperationsSchema, create(OperationsSchema, fields), knownFields);
}

export function encodeSetsChange(fields: MessageInitShape<typeof ChangeSchema>): Uint8Array {
  return toBinary(ChangeSchema, create(ChangeSchema, fields), knownFields);
}

/** What a parsed message had beyond the contract is left out when it is encoded again. */
const knownFields = { writeUnknownFields: false };
