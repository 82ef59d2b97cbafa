// `grpcRemote`: a tracker that shares its state through the state service of a Syncline server, or of any
// server of the contract fair.state.v1.
//
// All that can be wrong with the options is said here, at construction: later there would be nobody to tell.
import { checkTlsMaterial, SynclineError } from '@syncline/kernel';
import type { FairRemote } from '../client/fair-remote.js';
import { fairLimits } from '../limits.js';
import { DEFAULT_LABEL } from '../state/tracker-labels.js';
import { refuseUnless } from '../tuning.js';
import { GrpcTransport } from './grpc-transport.js';

export interface GrpcRemoteOptions {
  /** Where the service is: `127.0.0.1:7401`, `state.internal:7401`, `[::1]:7401`. */
  readonly address: string;
  /** The name under which instances share state. Not with `wire: 'seed'`, which knows no names. */
  readonly tracker?: string;
  /**
   * Default `'named'`. `'seed'` is for servers that know the plain contract alone: all their clients share
   * one state, without acknowledgements, and a lost connection may lose outcomes.
   */
  readonly wire?: FairRemote['wire'];
  /** `true` trusts the authorities of the system. Default: no TLS. */
  readonly tls?: true | GrpcRemoteTls;
  /** Bearer token of the server. Beyond loopback it is sent over TLS alone. */
  readonly token?: string;
}

/** PEM texts. */
export interface GrpcRemoteTls {
  /** The authority that signed the server's certificate. Default: those of the system. */
  readonly ca?: string;
  /** For servers that demand a client certificate. */
  readonly cert?: string;
  readonly key?: string;
  /** The name in the server's certificate, where it is not the host of the address. */
  readonly serverName?: string;
}

const NAME = new RegExp(`^[A-Za-z0-9._@-]{1,${fairLimits.nameLengthMax.value}}$`);
const ADDRESS = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+)):(\d{1,5})$/;
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1)$/;

/** The option `remote` of a tracker. Throws `invalid-argument`, with `details.field`. */
export function grpcRemote(options: GrpcRemoteOptions): FairRemote {
  const { address, tracker = '', wire = 'named', tls, token } = options;
  const host = hostOf(address);
  refuseUnless(wire === 'named' || wire === 'seed', 'wire', {
    value: wire,
    wanted: "'named' or 'seed'",
  });
  if (wire === 'named')
    refuseUnless(NAME.test(tracker) && tracker !== DEFAULT_LABEL, 'tracker', {
      value: tracker,
      wanted: `1 to ${fairLimits.nameLengthMax.value} letters, digits or ._@-, and not ${DEFAULT_LABEL}`,
    });
  else
    refuseUnless(tracker === '', 'tracker', {
      value: tracker,
      wanted: "nothing with wire: 'seed', since that contract knows no names",
    });
  const material = tls === true ? {} : tls;
  if (material !== undefined) checkTls(material);
  if (token !== undefined) checkToken(token, LOOPBACK.test(host) || material !== undefined);
  const target = { address, tls: material, token };
  return { tracker, wire, createTransport: ({ clock }) => new GrpcTransport({ clock }, target) };
}

function hostOf(address: string): string {
  const match = ADDRESS.exec(address);
  const port = Number(match?.[3]);
  const isAddress = match !== null && port >= 1 && port <= 65_535;
  refuseUnless(isAddress, 'address', {
    value: address,
    wanted: 'HOST:PORT, like 127.0.0.1:7401, with an IPv6 address in brackets',
  });
  return match?.[1] ?? match?.[2] ?? '';
}

function checkTls({ ca, cert, key }: GrpcRemoteTls): void {
  refuseUnless((cert === undefined) === (key === undefined), 'tls', {
    value: cert === undefined ? 'key without cert' : 'cert without key',
    wanted: 'a client certificate and its key together, or neither',
  });
  try {
    checkTlsMaterial({ ca, cert, key });
  } catch (thrown) {
    if (!(thrown instanceof SynclineError)) throw thrown;
    const field = `tls.${String(thrown.details['field'])}`;
    throw new SynclineError('invalid-argument', `${field}: ${thrown.message}`, {
      details: { field },
      cause: thrown,
    });
  }
}

/** The text is a secret: no message shows it. */
function checkToken(token: string, isPrivate: boolean): void {
  refuseUnless(/^[!-~]+$/.test(token), 'token', {
    value: '***',
    wanted: 'printable ASCII without blanks',
  });
  refuseUnless(isPrivate, 'token', {
    value: '***',
    wanted: 'nothing without TLS beyond loopback, where others would read it: set tls',
  });
}
