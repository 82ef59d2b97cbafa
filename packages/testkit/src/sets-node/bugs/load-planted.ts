// Loads the sets with a bug in them: copies of the modules to edit, and of all that import those, beside the
// originals. Everything else is shared with the real code.
//
// It works on sources, which tests read, and on what they are compiled to, which programs run: on either the
// text to find stands in one module. If it is not there the code has moved on, and loading fails.
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, extname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { assert } from '@syncline/kernel';
import type { openSets } from '@syncline/sets';
import { type PlantedSetsBug, SOURCE_EDITS, type SourceEdit } from './planted-bug.js';

/** `.ts` where sources are read, `.js` where they were compiled. */
const ENDING = extname(fileURLToPath(import.meta.url));
const TREE = ENDING === '.ts' ? 'src' : 'dist';
const ORIGINALS = fileURLToPath(new URL(`../../../../sets/${TREE}/`, import.meta.url));
/** In a folder that is never kept, from which packages are found. */
const COPIES = fileURLToPath(new URL('../../../dist/planted/', import.meta.url));
const IMPORT = /(\bfrom |\bimport )'(\.[^']+)\.js'/g;

const loaded = new Map<PlantedSetsBug, Promise<typeof openSets>>();

/** Once per bug. */
export function loadPlanted(bug: PlantedSetsBug): Promise<typeof openSets> {
  const loading = loaded.get(bug) ?? load(bug);
  loaded.set(bug, loading);
  return loading;
}

async function load(bug: PlantedSetsBug): Promise<typeof openSets> {
  const texts = await readModules();
  const edits: readonly SourceEdit[] = SOURCE_EDITS[bug];
  for (const { file, find, replace } of edits) {
    const pattern = new RegExp(find.split(/\s+/).map(escapeText).join('\\s+'), 'g');
    const text = texts.get(file) ?? '';
    assert(pattern.test(text), `${bug}: ${file} no longer has "${find}"`);
    texts.set(
      file,
      text.replaceAll(pattern, () => replace),
    );
  }
  const copied = importersOf(
    texts,
    edits.map(({ file }) => file),
  );
  assert(copied.has('open-sets'), `${bug}: the sets do not use what is edited`);
  const folder = join(COPIES, `${bug}-${process.pid}`);
  try {
    for (const file of copied)
      await writeCopy({ folder, file, copied, text: texts.get(file) ?? '' });
    const entry = pathToFileURL(join(folder, `open-sets${ENDING}`)).href;
    const module = (await import(/* @vite-ignore */ entry)) as { openSets: typeof openSets };
    return module.openSets;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** By their paths without ending. */
async function readModules(): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  for (const path of await readdir(ORIGINALS, { recursive: true })) {
    if (!path.endsWith(ENDING) || /\.(test|d)\.ts$/.test(path)) continue;
    texts.set(path.slice(0, -ENDING.length), await readFile(join(ORIGINALS, path), 'utf8'));
  }
  return texts;
}

/** These modules, and all that import one of them, however far away. */
function importersOf(
  texts: ReadonlyMap<string, string>,
  files: readonly string[],
): ReadonlySet<string> {
  const found = new Set(files);
  for (let size = 0; size < found.size; ) {
    size = found.size;
    for (const [file, text] of texts) {
      const imports = Array.from(text.matchAll(IMPORT), ([, , path = '']) =>
        join(dirname(file), path),
      );
      if (imports.some((path) => found.has(path))) found.add(file);
    }
  }
  return found;
}

interface Copy {
  readonly folder: string;
  readonly file: string;
  readonly text: string;
  readonly copied: ReadonlySet<string>;
}

/** A copy finds what is not copied where it was. */
async function writeCopy({ folder, file, text, copied }: Copy): Promise<void> {
  const place = dirname(join(folder, file));
  const linked = text.replaceAll(IMPORT, (whole, keyword: string, path: string) => {
    const imported = join(dirname(file), path);
    if (copied.has(imported)) return whole;
    return `${keyword}'${relative(place, join(ORIGINALS, imported))}.js'`;
  });
  await mkdir(place, { recursive: true });
  await writeFile(join(folder, `${file}${ENDING}`), linked);
}

function escapeText(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
