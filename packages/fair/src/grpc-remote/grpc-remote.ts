// `grpcRemote`: a tracker that shares its state through the state service of a Syncline server, or of any
// server of the contract fair.state.v1.
//
// Invalid options are reported here, at construction: later there would be no one to report them to.
import type { ClientTls, OptionNames } from '@syncline/kernel';
import { checkGrpcOptions, checkGrpcTarget, type GrpcTargetOptions } from '@syncline/protocol/grpc';
import type { FairRemote } from '../client/fair-remote.js';
import { checkTrackerName } from '../state/state-options.js';
import { refuseUnless } from '../tuning.js';
import { GrpcTransport } from './grpc-transport.js';

export interface GrpcRemoteOptions extends GrpcTargetOptions {
  /** The name under which instances share state. Not with `wire: 'seed'`, which has no names. */
  readonly tracker?: string;
  /**
   * Default `'named'`. `'seed'` is for servers that only know the original contract, without tracker names: all their
   * clients share one state, without acknowledgements, and a lost connection may lose outcomes.
   */
  readonly wire?: FairRemote['wire'];
}

/** PEM texts. */
export type GrpcRemoteTls = ClientTls;

const REMOTE_OPTIONS: OptionNames<GrpcRemoteOptions> = {
  address: true,
  tls: true,
  token: true,
  tracker: true,
  wire: true,
};

/** The option `remote` of a tracker. Throws `invalid-argument`, with `details.field`. */
export function grpcRemote(options: GrpcRemoteOptions): FairRemote {
  checkGrpcOptions('grpcRemote', options, REMOTE_OPTIONS);
  const { tracker = '', wire = 'named' } = options;
  const target = checkGrpcTarget('the fair tracker', options);
  refuseUnless(wire === 'named' || wire === 'seed', 'wire', {
    value: wire,
    wanted: "'named' or 'seed'",
  });
  if (wire === 'named') checkTrackerName(tracker);
  else
    refuseUnless(tracker === '', 'tracker', {
      value: tracker,
      wanted: "nothing with wire: 'seed', since that contract has no tracker names",
    });
  return { tracker, wire, createTransport: ({ clock }) => new GrpcTransport({ clock }, target) };
}
