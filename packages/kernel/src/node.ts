// The entry point `@syncline/kernel/node`: files, the segment log, sockets and TLS.
export { DiskReserve } from './files/disk-reserve.js';
export { createSystemFiles } from './files/system-files.js';
export { crc32 } from './hash/crc32.js';
export { SegmentLog, type SegmentLogDeps, type SegmentLogOptions } from './log/segment-log.js';
export { addressIdentityCheck, type IdentityCheck } from './network/address-identity.js';
export { findFreePorts } from './network/free-ports.js';
export { type ConnectFailure, type ListenFailure, listenError } from './network/network-error.js';
export { createTcpNetwork } from './network/tcp-network.js';
export type { Refusal, TcpNetworkOptions } from './network/tcp-settings.js';
export { TlsHandshakes } from './network/tls-handshakes.js';
export {
  checkTlsMaterial,
  type Pem,
  type TlsFlaw,
  type TlsMaterial,
} from './network/tls-material.js';
export { createTlsNetwork, type TlsNetworkOptions } from './network/tls-network.js';
export { tryPort } from './network/try-port.js';
export {
  type ClaimDirectoryDeps,
  claimDirectory,
  type DirectoryClaim,
} from './storage/claim-directory.js';
export type { DirectoryOwner } from './storage/owner-file.js';
