// The exit codes of the `syncline` command.

export const EXIT_CODES = {
  0: 'ok',
  1: 'failure',
  2: 'invalid usage or configuration',
  3: 'the server is unreachable or not ready',
  4: 'not found',
  5: 'conflict: something is in use, or exists in a different form',
  6: 'outcome unknown: the request was sent and may have been applied',
  130: 'interrupted with Ctrl-C before completion',
} as const;

export type ExitCode = keyof typeof EXIT_CODES;
