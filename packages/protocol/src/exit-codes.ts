// The exit codes of the `syncline` command.

export const EXIT_CODES = {
  0: 'ok',
  1: 'failure',
  2: 'usage: a flag, a value or the configuration is wrong',
  3: 'unreachable: no server answered, or it is not ready',
  4: 'not found',
  5: 'conflict: someone else holds it, or it exists in another form',
  6: 'outcome unknown: it was sent and may have been applied',
} as const;

export type ExitCode = keyof typeof EXIT_CODES;
