// HTTP statuses that are more specific than the one in the error table. docs/ERRORS.md is generated from this list.
import type { ErrorCode } from '@syncline/kernel';

interface StatusMeaning {
  readonly code: ErrorCode;
  readonly when: string;
}

export const httpStatuses = {
  403: { code: 'invalid-argument', when: 'A web page from another origin requested a change.' },
  405: {
    code: 'invalid-argument',
    when: 'The method is not supported for this path. The header `allow` lists those that are.',
  },
  408: { code: 'limit-exceeded', when: 'The request did not arrive in time.' },
  413: { code: 'limit-exceeded', when: 'The body is too large.' },
  414: { code: 'limit-exceeded', when: 'The URL is too long.' },
  415: { code: 'invalid-argument', when: 'The body has a media type other than JSON.' },
  421: { code: 'invalid-argument', when: 'The Host header names another server.' },
  431: { code: 'limit-exceeded', when: 'There are too many headers, or they are too large.' },
  500: {
    code: 'unavailable',
    when: 'A bug in the server. Do not retry; the outcome is unknown. The server log has the details.',
  },
} as const satisfies Readonly<Record<number, StatusMeaning>>;

export type OwnHttpStatus = keyof typeof httpStatuses;
