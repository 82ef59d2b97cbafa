// How a client reaches a gRPC service: address, TLS and token, as users write them.
//
// Everything that can be wrong with them is reported when a client is created: later there would be no caller to
// report it to. Plain values, no gRPC library: the clients pass them to theirs.
import {
  type ClientTls,
  isTokenSafe,
  refuseUnknownOptions,
  SynclineError,
  tokenFlaw,
} from '@syncline/kernel';
import { checkTlsMaterial } from '@syncline/kernel/node';

export interface GrpcTargetOptions {
  /** Where the service is: `127.0.0.1:7401`, `state.internal:7401`, `[::1]:7401`. */
  readonly address: string;
  /** `true` trusts the authorities of Node. Default: no TLS. */
  readonly tls?: true | ClientTls;
  /** Bearer token of the server. Without TLS it is sent on loopback only. */
  readonly token?: string;
}

/** Options that were checked. */
export interface GrpcTarget {
  readonly address: string;
  readonly tls: ClientTls | undefined;
  readonly token: string | undefined;
}

/** Refuses options that are missing or unknown. `factory` is the name of the caller in errors. */
export function checkGrpcOptions(factory: string, options: unknown, known: object): void {
  if (typeof options !== 'object' || options === null) {
    const message = `${factory} needs options, at least { address }, such as { address: '127.0.0.1:7401' }`;
    throw new SynclineError('invalid-argument', message, { details: { field: 'options' } });
  }
  refuseUnknownOptions(options, factory, known);
}

const ADDRESS = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+)):(\d{1,5})$/;

/**
 * `client` is the name of the caller in errors: "the fair tracker". Throws `invalid-argument`, with `details.field`.
 */
export function checkGrpcTarget(client: string, options: GrpcTargetOptions): GrpcTarget {
  const { address, token } = options;
  const refuse = refusalBy(client);
  const host = hostOf(address);
  if (host === undefined)
    refuse(
      'address',
      address,
      'HOST:PORT, such as 127.0.0.1:7401, with IPv6 addresses in brackets',
    );
  const tls = options.tls === true ? {} : options.tls;
  if (tls !== undefined) checkTls(tls, refuse);
  if (token !== undefined) checkToken(token, isTokenSafe(host ?? '', tls !== undefined), refuse);
  return { address, tls, token };
}

type Refuse = (field: string, value: string, wanted: string) => void;

function refusalBy(client: string): Refuse {
  return (field, value, wanted) => {
    const message = `invalid option ${field} = ${value} for ${client}; expected ${wanted}`;
    throw new SynclineError('invalid-argument', message, { details: { field } });
  };
}

export function hostOf(address: string): string | undefined {
  const match = ADDRESS.exec(address);
  const port = Number(match?.[3]);
  return port >= 1 && port <= 65_535 ? (match?.[1] ?? match?.[2]) : undefined;
}

function checkTls({ ca, cert, key }: ClientTls, refuse: Refuse): void {
  if ((cert === undefined) !== (key === undefined)) {
    const value = cert === undefined ? 'key without cert' : 'cert without key';
    refuse('tls', value, 'a client certificate and its key together, or neither');
  }
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

function checkToken(token: string, isSafe: boolean, refuse: Refuse): void {
  const wanted = tokenFlaw(token);
  if (wanted !== undefined) refuse('token', '***', wanted);
  if (!isSafe)
    refuse(
      'token',
      '***',
      'no token, since others could read it without TLS: set tls (it is optional only on loopback)',
    );
}
