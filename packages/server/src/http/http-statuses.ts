// The statuses that the server itself answers where HTTP has a better one than the error table gives
// the code. docs/ERRORS.md is made from this list, and what the server refuses by itself has its type.
import type { ErrorCode } from '@syncline/kernel';

interface StatusMeaning {
  readonly code: ErrorCode;
  readonly when: string;
}

export const httpStatuses = {
  403: { code: 'invalid-argument', when: 'A page of another origin asks for a change.' },
  405: {
    code: 'invalid-argument',
    when: 'The path does not have this method. The header `allow` lists those that it has.',
  },
  408: { code: 'limit-exceeded', when: 'The request did not arrive in time.' },
  413: { code: 'limit-exceeded', when: 'The body is too large.' },
  414: { code: 'limit-exceeded', when: 'The URL is too long.' },
  415: { code: 'invalid-argument', when: 'The body has a media type other than JSON.' },
  421: { code: 'invalid-argument', when: 'The Host header names another server.' },
  431: { code: 'limit-exceeded', when: 'The headers are too many or too large.' },
  500: {
    code: 'unavailable',
    when: 'A bug of the server: not worth a retry, and the outcome is unknown. Its log tells more.',
  },
} as const satisfies Readonly<Record<number, StatusMeaning>>;

export type OwnHttpStatus = keyof typeof httpStatuses;
