// Loads a package with a bug in it, or in another package that it uses: it copies the modules to edit, and all
// modules between those and the entry, beside the originals. Everything else is shared with the real code.
//
// It works both on sources, which tests use, and on compiled code, which programs use: in either, the text to find is
// in a single module. If it is not there, the code has changed, and loading fails.
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, extname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { assert } from '@syncline/kernel';

/** In module `file` each `find` becomes `replace`. Any whitespace matches any other. */
export interface SourceEdit {
  /** Default: the package that is loaded. */
  readonly folder?: string;
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

export interface EditedPackage {
  /** The folder of the package in `packages`. */
  readonly folder: string;
  /** The module to load, without its extension. */
  readonly entry: string;
  /** The name of the bug, for messages. */
  readonly bug: string;
  readonly edits: readonly SourceEdit[];
}

type Texts = ReadonlyMap<string, string>;

/** `.ts` where sources are used, `.js` where compiled code is. */
const ENDING = extname(fileURLToPath(import.meta.url));
const TREE = ENDING === '.ts' ? 'src' : 'dist';
const PACKAGES = fileURLToPath(new URL('../../../', import.meta.url));
/** In a folder that is ignored by git, from which packages can be resolved. */
const COPIES = fileURLToPath(new URL('../../dist/planted/', import.meta.url));
const IMPORT = /(\bfrom |\bimport )'(?:(\.[^']+)\.js|@syncline\/([a-z]+)(?:\/([a-z]+))?)'/g;

/** Returns the exports of the entry. */
export async function loadEdited({ folder, entry, bug, edits }: EditedPackage): Promise<unknown> {
  const files = edits.map((edit) => `${edit.folder ?? folder}/${edit.file}`);
  const folders = new Set([folder, ...edits.map((edit) => edit.folder ?? folder)]);
  const originals = new Map<string, string>();
  for (const each of folders) await readModules(each, originals);
  const texts = edited(originals, bug, edits, files);
  const start = `${folder}/${entry}`;
  const needed = reachable(texts, start);
  const copied = new Set([...importersOf(texts, files)].filter((file) => needed.has(file)));
  assert(copied.has(start), `${bug}: ${entry} does not import the edited module`);
  const place = join(COPIES, `${bug}-${process.pid}`);
  try {
    for (const file of copied) {
      await writeCopy({ place, file, copied, text: texts.get(file) ?? '' });
    }
    return await import(/* @vite-ignore */ pathToFileURL(join(place, `${start}${ENDING}`)).href);
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

/** By folder and path without extension. */
async function readModules(folder: string, into: Map<string, string>): Promise<void> {
  const root = join(PACKAGES, folder, TREE);
  for (const path of await readdir(root, { recursive: true })) {
    if (!path.endsWith(ENDING) || /\.(test|d)\.ts$/.test(path)) continue;
    const name = `${folder}/${path.slice(0, -ENDING.length)}`;
    into.set(name, await readFile(join(root, path), 'utf8'));
  }
}

function edited(
  originals: Texts,
  bug: string,
  edits: readonly SourceEdit[],
  files: readonly string[],
): Texts {
  const texts = new Map(originals);
  for (const [index, { find, replace }] of edits.entries()) {
    const file = files[index] ?? '';
    const pattern = new RegExp(find.split(/\s+/).map(escapeText).join('\\s+'), 'g');
    const text = texts.get(file) ?? '';
    assert(pattern.test(text), `${bug}: ${file} no longer has "${find}"`);
    texts.set(
      file,
      text.replaceAll(pattern, () => replace),
    );
  }
  return texts;
}

function importsOf(texts: Texts, file: string): readonly string[] {
  const found = (texts.get(file) ?? '').matchAll(IMPORT);
  return Array.from(found, ([, , path, folder, door]) => importedBy(file, path, folder, door));
}

/** A module of the same package, or an entry point of another one. */
function importedBy(file: string, path?: string, folder?: string, door = 'index'): string {
  return path === undefined ? `${folder}/${door}` : join(dirname(file), path);
}

/** These modules, and everything that imports one of them, directly or indirectly. */
function importersOf(texts: Texts, files: readonly string[]): ReadonlySet<string> {
  const found = new Set(files);
  for (let size = 0; size < found.size; ) {
    size = found.size;
    for (const file of texts.keys()) {
      if (importsOf(texts, file).some((path) => found.has(path))) found.add(file);
    }
  }
  return found;
}

/** This module, and everything it imports, directly or indirectly. */
function reachable(texts: Texts, entry: string): ReadonlySet<string> {
  const found = new Set([entry]);
  for (const file of found) for (const path of importsOf(texts, file)) found.add(path);
  return found;
}

interface Copy {
  readonly place: string;
  readonly file: string;
  readonly text: string;
  readonly copied: ReadonlySet<string>;
}

/** In a copy, imports of modules that are not copied point to the originals. */
async function writeCopy({ place, file, text, copied }: Copy): Promise<void> {
  const folder = dirname(join(place, file));
  const linked = text.replaceAll(
    IMPORT,
    (whole, keyword: string, path?: string, other?: string, door?: string) => {
      const imported = importedBy(file, path, other, door);
      if (path === undefined && !copied.has(imported)) return whole;
      const [from = '', ...names] = imported.split('/');
      const original = join(PACKAGES, from, TREE, ...names);
      const target = relative(folder, copied.has(imported) ? join(place, imported) : original);
      return `${keyword}'${target.startsWith('.') ? '' : './'}${target}.js'`;
    },
  );
  await mkdir(folder, { recursive: true });
  await writeFile(join(place, `${file}${ENDING}`), linked);
}

function escapeText(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
