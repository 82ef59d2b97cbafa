// docs/ERRORS.md: each error code, what it means, and what every protocol calls it.
import { ERROR_CODES, type ErrorCode } from '@syncline/kernel';
import { ERROR_TABLE, EXIT_CODES } from '@syncline/protocol';
import { httpStatuses } from '@syncline/server';
import { errorWords, protocolFailures } from '@syncline/sets';
import { renderTable } from './markdown-table.js';

export function renderErrorsPage(): string {
  const codes = Object.keys(ERROR_CODES) as ErrorCode[];
  const meanings = codes.map((code) => {
    const { meaning, retryable } = ERROR_CODES[code];
    return [`\`${code}\``, meaning, retryable ? 'yes' : 'no'];
  });
  const wireNames = codes.map((code) => {
    const { grpc, http, resp, exit } = ERROR_TABLE[code];
    return [`\`${code}\``, `\`${grpc}\``, String(http), `\`${resp}\``, String(exit)];
  });
  const httpRows = Object.entries(httpStatuses).map(([status, { code, when }]) => [
    status,
    `\`${code}\``,
    when,
  ]);
  const wordRows = Object.entries(errorWords).map(([word, when]) => [`\`${word}\``, when]);
  const broken = Object.values(protocolFailures)
    .filter((text) => text !== undefined)
    .map((text) => `\`${text}\``);
  return `# Errors

Everything that can go wrong arrives as a \`SynclineError\` with a \`code\` from this list. Branch on the
code; the message is for people and may change. \`details\` holds values for programs. \`outcome\` says
whether a failed change took effect: \`not-applied\`, or \`unknown\` when the request was sent and not
answered.

## Codes

${renderTable(['code', 'meaning', 'worth a retry'], meanings)}

## What each protocol calls them

The code itself travels beside these, so that our own clients get it back unchanged.

${renderTable(['code', 'gRPC', 'HTTP', 'RESP', 'exit code'], wireNames)}

HTTP has a status of its own for some refusals of the server:

${renderTable(['HTTP', 'code', 'when'], httpRows)}

## Errors over RESP

A Redis client gets the first word and a text. Texts are those of Redis where Redis has the case.

${renderTable(['word', 'when'], wordRows)}

Who breaks the protocol is told \`ERR Protocol error: …\` and closed: ${broken.join(', ')}. The two with
\`unauthenticated\` mean that a command is larger than what is taken before the password: see
[sets.md](sets.md#password-and-tls). An HTTP or TLS client at a plain RESP port is closed without an answer.

## Exit codes of the command line

${renderTable(
  ['exit code', 'meaning'],
  Object.entries(EXIT_CODES).map(([code, meaning]) => [code, meaning]),
)}
`;
}
