// What every HTTP request must pass before it reaches a route, as a pure function of its headers.
//
// The checks run from the cheapest and least revealing to the token. /healthz and /readyz stay open:
// probes carry no token, and the reasons in them name no data. The files of the page are open since
// they hold no data. Everything else needs the token where one is configured.
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
  /** Host headers: of two, a proxy and this server could use different ones. */
  readonly hostsCount: number;
  readonly access: RouteAccess;
}

/** `work` is what slices answer; it is refused while the server drains. `metrics` can have its own token. */
export type RouteAccess = 'open' | 'token' | 'metrics' | 'work';

export interface GuardRules {
  readonly isHostAllowed: HostCheck;
  readonly isTokenRight: TokenCheck;
  /** Undefined if /metrics has no separate token. */
  readonly isMetricsTokenRight?: TokenCheck | undefined;
  /** The address has sent too many wrong tokens. */
  readonly isSpent: boolean;
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
  if (facts.access !== 'open' && rules.isSpent) return { status: 429, error: tooManyGuesses() };
  if (facts.access !== 'open' && !isAuthorized(facts, rules)) {
    return { status: 401, error: tokenError(facts.authorization) };
  }
  if (facts.access === 'work' && rules.isDraining) return draining();
  return undefined;
}

function isAuthorized({ access, authorization }: RequestFacts, rules: GuardRules): boolean {
  if (rules.isTokenRight(authorization)) return true;
  return access === 'metrics' && rules.isMetricsTokenRight?.(authorization) === true;
}

/** A page of another origin may send some requests without a preflight. None of them may change anything. */
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
  const message = 'changes from web pages of another origin are refused';
  const details = { field: 'origin' };
  return { status: 403, error: new SynclineError('invalid-argument', message, { details }) };
}

function draining(): RequestRefusal {
  const message = 'the server is stopping. Try again, or use another node.';
  return { status: 503, error: new SynclineError('unavailable', message) };
}
