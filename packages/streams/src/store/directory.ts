// The checkpoint directory around the store: its format marker, and two files that other processes may read while a run
// holds the store.
//
//   FORMAT        "syncline-streams 1"; a directory without it is not a checkpoint directory and is left alone
//   db/           the Storage
//   STATUS.json   progress of the run; informational
//   owner.json    pid, host and start time of the run; informational
//   savepoints/   portable snapshots
import { type Clock, type Files, SynclineError } from '@syncline/kernel';
import type { PipelineProgress } from '../run/progress.js';
import { tooNew } from '../state/state-error.js';
import { STORE_FORMAT } from './layout.js';

const MARK = 'syncline-streams';

export class StoreDirectory {
  readonly path: string;
  readonly #files: Files;
  readonly #clock: Clock;
  #writing: Promise<void> = Promise.resolve();

  private constructor(files: Files, path: string, clock: Clock) {
    this.#files = files;
    this.path = path;
    this.#clock = clock;
  }

  get storePath(): string {
    return `${this.path}/db`;
  }

  /** Creates the directory if needed. Throws `conflict` if it is used for something else. */
  static async open(
    files: Files,
    path: string,
    clock: Clock,
    shown: string,
  ): Promise<StoreDirectory> {
    await makeDurableDir(files, path);
    const names = await files.list(path);
    if (!names.includes('FORMAT')) {
      const foreign = names.filter((name) => name !== 'FORMAT.tmp');
      if (foreign.length > 0) {
        throw new SynclineError(
          'conflict',
          `${shown} is not empty and has no FORMAT file, so it is not a checkpoint directory ` +
            `(it has ${foreign.slice(0, 3).join(', ')}). Choose another directory.`,
          { details: { reason: 'foreign-directory', path } },
        );
      }
      await writeWhole(files, path, 'FORMAT', `${MARK} ${STORE_FORMAT}\n`);
    } else {
      await files.syncDir(path); // the process that renamed it into place may have died before syncing
    }
    await checkFormat(files, path, shown);
    return new StoreDirectory(files, path, clock);
  }

  /** Writes STATUS.json. Errors are ignored, since they must not fail the run. */
  report(progress: PipelineProgress): void {
    const text = `${JSON.stringify({ ...progress, atMs: this.#clock.nowMs() })}\n`;
    this.#writing = this.#writing
      .then(() => this.#replace('STATUS.json', text))
      .catch(() => undefined);
  }

  /**
   * The epoch that a run last reported; 0 if unknown. It was durable at that point, so a store that is behind it has
   * lost commits: LevelDB silently drops damaged records of its log.
   */
  async reportedEpoch(): Promise<number> {
    const place = `${this.path}/STATUS.json`;
    const stat = await this.#files.stat(place);
    if (stat === undefined) return 0;
    try {
      const text = Buffer.from(await this.#files.readAt(place, 0, stat.bytes)).toString('utf8');
      const { epoch } = JSON.parse(text) as { readonly epoch?: unknown };
      return Number.isSafeInteger(epoch) ? (epoch as number) : 0;
    } catch (thrown) {
      if (thrown instanceof SyntaxError) return 0; // the file is not synced, so it may be torn
      throw thrown;
    }
  }

  async #replace(name: string, text: string): Promise<void> {
    const temporary = `${this.path}/${name}.tmp`;
    if ((await this.#files.stat(temporary)) !== undefined) await this.#files.remove(temporary);
    await this.#files.append(temporary, Buffer.from(text));
    await this.#files.rename(temporary, `${this.path}/${name}`);
  }

  /** Copies owner.json from the store to the checkpoint directory, where people look for it. */
  async announce(): Promise<void> {
    const owner = `${this.storePath}/owner.json`;
    if ((await this.#files.stat(owner)) === undefined) return;
    const text = Buffer.from(await this.#files.readAt(owner, 0, 4_096)).toString('utf8');
    await this.#replace('owner.json', text);
  }

  async leave(): Promise<void> {
    await this.#writing;
    const owner = `${this.path}/owner.json`;
    if ((await this.#files.stat(owner)) !== undefined) await this.#files.remove(owner);
  }
}

/** Throws `not-found`, `corrupt` or `too-new`. */
export async function checkFormat(files: Files, path: string, shown: string): Promise<void> {
  const text = Buffer.from(await files.readAt(`${path}/FORMAT`, 0, 64)).toString('latin1');
  const version = new RegExp(`^${MARK} (\\d+)\\n$`).exec(text)?.[1];
  if (version === undefined) {
    throw new SynclineError(
      'corrupt',
      `${shown}/FORMAT has ${JSON.stringify(text)} instead of "${MARK} ${STORE_FORMAT}"`,
      { details: { path } },
    );
  }
  if (Number(version) > STORE_FORMAT) throw tooNew(shown, Number(version), STORE_FORMAT);
}

/** Creates a directory and its parents so that they survive power loss. */
export async function makeDurableDir(files: Files, path: string): Promise<void> {
  const names = path.split('/').filter((name) => name !== '');
  const upTo = (count: number) => names.slice(0, count).join('/');
  for (let count = 1; count <= names.length; count += 1) {
    if ((await files.stat(upTo(count))) !== undefined) continue;
    // The process that created the parent may have died before syncing its name.
    if (count > 1) await files.syncDir(upTo(count - 2));
    await files.makeDir(upTo(count));
    await files.syncDir(upTo(count - 1));
  }
  await files.syncDir(upTo(names.length - 1));
}

/** Writes a file atomically: after a crash it has all of its content, or does not exist. */
export async function writeWhole(
  files: Files,
  directory: string,
  name: string,
  text: string,
): Promise<void> {
  const temporary = `${directory}/${name}.tmp`;
  if ((await files.stat(temporary)) !== undefined) await files.remove(temporary);
  await files.append(temporary, Buffer.from(text));
  await files.sync(temporary);
  await files.rename(temporary, `${directory}/${name}`);
  await files.syncDir(directory);
}
