// The checks that every HTTP request must pass before it reaches a route, as a pure function of its headers.
//
// The token is checked last: earlier checks are cheaper and reveal less. /healthz and /readyz need no token,
// because probes have none and the reasons reveal no data; neither do the files of the dashboard, which contain
// no data. Everything else requires the token, if one is configured.
import { SynclineError } from '@syncline/kernel';
import { type TokenCheck, tokenError, tooManyGuesses } from '../auth/bearer-token.js';
import type { serverLimits } from '../limits.js';
import { type HostCheck, isSameHost, originHost } from './host-check.js';
import type { OwnHttpStatus } from './http-statuses.js';

export interface RequestFacts {
  readonly method: string;
  /** Path and query, as sent. */
  readonly url: string;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly authorization: string | undefined;
  readonly headersCount: number;
  /** More than one Host header is refused: a proxy and this server might use different ones. */
  readonly hostsCount: number;
  readonly access: RouteAccess;
}

/** Requests to a `slice` are refused while the server drains. `metrics` can have its own token. */
export type RouteAccess = 'open' | 'token' | 'metrics' | 'slice';

export interface GuardRules {
  readonly isHostAllowed: HostCheck;
  readonly isTokenValid: TokenCheck;
  /** Undefined if /metrics has no separate token. */
  readonly isMetricsTokenValid?: TokenCheck | undefined;
  /** Whether the address has sent too many wrong tokens. */
  readonly isBlocked: boolean;
  readonly headersMax: number;
  readonly urlBytesMax: number;
  readonly isDraining: boolean;
}

export interface RequestRefusal {
  readonly status: OwnHttpStatus | 400 | 401 | 429 | 503;
  readonly error: SynclineError;
  readonly limit?: keyof typeof serverLimits;
}

export function guardRequest(facts: RequestFacts, rules: GuardRules): RequestRefusal | undefined {
  if (facts.url.length > rules.urlBytesMax)
    return tooLong('httpUrlBytesMax', facts.url.length, rules.urlBytesMax);
  if (facts.headersCount > rules.headersMax)
    return tooLong('httpHeadersMax', facts.headersCount, rules.headersMax);
  if (facts.hostsCount > 1) return severalHosts(facts.hostsCount);
  if (!rules.isHostAllowed(facts.host, 'host')) return wrongHost(facts.host);
  if (isForeignWrite(facts, rules.isHostAllowed)) return foreignOrigin();
  if (facts.access !== 'open' && rules.isBlocked) return { status: 429, error: tooManyGuesses() };
  if (facts.access !== 'open' && !isAuthorized(facts, rules)) {
    return { status: 401, error: tokenError(facts.authorization) };
  }
  if (facts.access === 'slice' && rules.isDraining) return draining();
  return undefined;
}

function isAuthorized({ access, authorization }: RequestFacts, rules: GuardRules): boolean {
  if (rules.isTokenValid(authorization)) return true;
  return access === 'metrics' && rules.isMetricsTokenValid?.(authorization) === true;
}

/** A page from another origin can send some requests without a preflight; they must not change anything. */
function isForeignWrite(facts: RequestFacts, isHostAllowed: HostCheck): boolean {
  const { method, host = '', origin } = facts;
  if (origin === undefined || method === 'GET' || method === 'HEAD') return false;
  const page = originHost(origin);
  if (page === undefined) return true;
  return !isSameHost(page, host) && !isHostAllowed(page, 'origin');
}

function tooLong(
  limit: 'httpUrlBytesMax' | 'httpHeadersMax',
  value: number,
  max: number,
): RequestRefusal {
  const isUrl = limit === 'httpUrlBytesMax';
  const what = isUrl ? `the URL has ${value} bytes` : `the request has ${value} headers`;
  const message = `${what}; at most ${max} are allowed`;
  return {
    status: isUrl ? 414 : 431,
    limit,
    error: new SynclineError('limit-exceeded', message, { details: { limit } }),
  };
}

function wrongHost(host: string | undefined): RequestRefusal {
  const name = JSON.stringify((host ?? '').slice(0, 100));
  const message = `the Host header ${name} is not allowed. If it is a name of this server, add it to http.allowed_hosts.`;
  const details = { field: 'host' };
  return { status: 421, error: new SynclineError('invalid-argument', message, { details }) };
}

function severalHosts(count: number): RequestRefusal {
  const message = `the request has ${count} Host headers; exactly one is allowed`;
  const details = { field: 'host' };
  return { status: 400, error: new SynclineError('invalid-argument', message, { details }) };
}

function foreignOrigin(): RequestRefusal {
  const message = 'web pages from another origin are not allowed to change anything';
  const details = { field: 'origin' };
  return { status: 403, error: new SynclineError('invalid-argument', message, { details }) };
}

function draining(): RequestRefusal {
  const message = 'the server is stopping. Try again, or use another node.';
  return { status: 503, error: new SynclineError('unavailable', message) };
}
