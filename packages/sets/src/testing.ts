export { parseVersion } from './commands/syncline/versions.js';
export { PlainSets } from './engine/testing/plain-sets.js';
export { createOrderKeys, type OrderKeys } from './memory/order-hash.js';
export { RespReplies, type RespReply } from './testing/differential/resp-replies.js';
export { FakeMesh, type FakeMessage } from './testing/fake-mesh.js';
export { type PlainOperation, plainByProtobuf } from './testing/plain-operation.js';
export { readStoredPlainly, readStoredSets, type StoredSets } from './testing/stored-sets.js';
export { encodeCommand, Talk } from './testing/talk.js';
