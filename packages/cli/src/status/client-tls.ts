// Reads the TLS files that are named on the command line, and checks that they can be used.
import { SynclineError } from '@syncline/kernel';
import { checkTlsMaterial } from '@syncline/kernel/node';
import { readInputFile } from '@syncline/server/config';

const OPTIONS = { ca: '--ca-file', cert: '--cert-file', key: '--key-file' } as const;

type Part = keyof typeof OPTIONS;

/** For each part the file, if it was given. */
export type ClientTlsFiles = Readonly<Record<Part, string | undefined>>;

/** PEM texts. */
export type ClientTls = Readonly<Record<Part, string | undefined>>;

export function readClientTls(files: ClientTlsFiles): ClientTls {
  const { ca, cert, key } = files;
  if (cert !== undefined && key === undefined) throw incomplete('cert', 'key');
  if (key !== undefined && cert === undefined) throw incomplete('key', 'cert');
  const texts = {
    ca: readPart('ca', ca),
    cert: readPart('cert', cert),
    key: readPart('key', key),
  };
  if (ca === undefined && cert === undefined) return texts;
  try {
    checkTlsMaterial(texts);
  } catch (thrown) {
    throw nameFile(thrown, files);
  }
  return texts;
}

function readPart(part: Part, file: string | undefined): string | undefined {
  return file === undefined ? undefined : readInputFile(file, OPTIONS[part]).text;
}

function incomplete(given: Part, missing: Part): SynclineError {
  const message = `${OPTIONS[given]} is given but ${OPTIONS[missing]} is not. A client certificate needs its key: pass both.`;
  return new SynclineError('invalid-argument', message);
}

/** The check only sees the content; this adds the option and the file. */
function nameFile(thrown: unknown, files: ClientTlsFiles): unknown {
  if (!(thrown instanceof SynclineError)) return thrown;
  const part = thrown.details['field'] as Part;
  const message = `${OPTIONS[part]}: cannot use ${files[part]}: ${thrown.message}.`;
  return new SynclineError('invalid-argument', message, { cause: thrown });
}
