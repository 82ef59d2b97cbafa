// Reads a small file named in the configuration. If that fails, the error says why.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
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

/** `what` starts the error message: `tls.key_file (from syncline.toml)`. */
export function readInputFile(
  path: string,
  what: string,
  bytesMax: number = serverLimits.configFileBytesMax.value,
): InputFile {
  try {
    const { bytes, mode } = readStart(path, bytesMax + 1);
    if (bytes.length > bytesMax) throw tooLarge(path, what, bytesMax);
    return { text: bytes.toString('utf8'), isWorldReadable: (mode & 0o004) !== 0 };
  } catch (thrown) {
    if (thrown instanceof SynclineError) throw thrown;
    const { code, message } = thrown as NodeJS.ErrnoException;
    const reason = REASONS[code ?? ''] ?? message;
    const base = isAbsolute(path) ? '' : `, relative to ${resolve()}`;
    throw new SynclineError(
      'invalid-argument',
      `${what}: cannot read ${path} (${reason}${base}).`,
      { details: { file: path }, cause: thrown },
    );
  }
}

/** Ignores the reported file size: that of a pipe, as from `<(command)`, is 0, and a device may be endless. */
function readStart(path: string, bytesMax: number): { bytes: Buffer; mode: number } {
  const file = openSync(path, 'r');
  try {
    const buffer = Buffer.alloc(bytesMax);
    let length = 0;
    for (;;) {
      const count = readSync(file, buffer, length, bytesMax - length, null);
      length += count;
      if (count === 0 || length === bytesMax) break;
    }
    return { bytes: buffer.subarray(0, length), mode: fstatSync(file).mode };
  } finally {
    closeSync(file);
  }
}

function tooLarge(path: string, what: string, bytesMax: number): SynclineError {
  return new SynclineError(
    'invalid-argument',
    `${what}: ${path} is larger than ${bytesMax} bytes. It is probably the wrong file.`,
    { details: { file: path } },
  );
}
