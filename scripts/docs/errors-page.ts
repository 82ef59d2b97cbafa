// docs/ERRORS.md: each error code, what it means, and what every protocol calls it.
import { ERROR_CODES, type ErrorCode } from '@syncline/kernel';
import { ERROR_TABLE, EXIT_CODES } from '@syncline/protocol';
import { httpStatuses } from '@syncline/server';
import { errorPrefixes, protocolFailures } from '@syncline/sets';
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
  const wordRows = Object.entries(errorPrefixes).map(([word, when]) => [`\`${word}\``, when]);
  const broken = Object.values(protocolFailures)
    .filter((text) => text !== undefined)
    .map((text) => `\`${text}\``);
  return `# Errors

Every failure is reported as a \`SynclineError\` with a \`code\` from this list. Branch on the code; the
message is for people and may change. \`details\` has machine-readable values. \`outcome\` says whether a
failed change took effect: \`not-applied\`, or \`unknown\` if the request was sent but got no reply.

## Codes

${renderTable(['code', 'meaning', 'retryable'], meanings)}

## Codes by protocol

The code itself is transmitted as well, so that Syncline's clients receive it unchanged.

${renderTable(['code', 'gRPC', 'HTTP', 'RESP', 'exit code'], wireNames)}

Some HTTP errors have their own status:

${renderTable(['HTTP', 'code', 'when'], httpRows)}

## Errors over RESP

An error reply consists of a prefix and a message. Where Redis has the same error, the message is the same.

${renderTable(['prefix', 'when'], wordRows)}

A client that violates the protocol receives \`ERR Protocol error: …\` and is disconnected: ${broken.join(', ')}. The two with
\`unauthenticated\` mean that a command is larger than what is allowed before authentication: see
[sets.md](sets.md#password-and-tls). An HTTP or TLS client on a plain RESP port is disconnected without a reply.

## Exit codes of the CLI

${renderTable(
  ['exit code', 'meaning'],
  Object.entries(EXIT_CODES).map(([code, meaning]) => [code, meaning]),
)}
`;
}
