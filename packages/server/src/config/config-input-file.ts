// Reads a small file that the configuration names, and says clearly why it cannot.
import { readFileSync, statSync } from 'node:fs';
import { SynclineError } from '@syncline/kernel';
import { serverLimits } from '../limits.js';

export interface InputFile {
  readonly text: string;
  /** True when every user of the machine may read it. */
  readonly isWorldReadable: boolean;
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  ENOTDIR: 'no such file',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EISDIR: 'it is a directory',
};

/** `what` opens the error: `tls.key_file (from syncline.toml)`. */
export function readInputFile(
  path: string,
  what: string,
  bytesMax: number = serverLimits.configFileBytesMax.value,
): InputFile {
  try {
    // Sizes of pipes are 0, so `<(command)` works too; what comes out is checked below.
    const { size, mode } = statSync(path);
    if (size > bytesMax) throw tooLarge(path, what, bytesMax);
    const bytes = readFileSync(path);
    if (bytes.length > bytesMax) throw tooLarge(path, what, bytesMax);
    return { text: bytes.toString('utf8'), isWorldReadable: (mode & 0o004) !== 0 };
  } catch (thrown) {
    if (thrown instanceof SynclineError) throw thrown;
    const { code, message } = thrown as NodeJS.ErrnoException;
    throw new SynclineError(
      'invalid-argument',
      `${what}: cannot read ${path} (${REASONS[code ?? ''] ?? message}).`,
      { details: { file: path }, cause: thrown },
    );
  }
}

function tooLarge(path: string, what: string, bytesMax: number): SynclineError {
  return new SynclineError(
    'invalid-argument',
    `${what}: ${path} is larger than ${bytesMax} bytes. It is probably not the file that was meant.`,
    { details: { file: path } },
  );
}
