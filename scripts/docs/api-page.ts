// docs/api/*.md: the exports of the packages that programs import, as the compiler declares them, comments included.
//
// An entry point is a list of names from files (the rule `doors-are-lists`), so a declaration is found by reading the
// file that a name comes from.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseSync } from 'oxc-parser';
import { repositoryRoot } from '../repository/read-repository.js';

interface EntryPoint {
  readonly specifier: string;
  /** The file of declarations, in the repository. */
  readonly path: string;
}

export interface ApiPage {
  readonly name: string;
  readonly text: string;
}

/** Packages that are imported by programs; the others are parts of the server. */
const PACKAGES = ['fair', 'jobs', 'kernel', 'mesh', 'riblt', 'sets', 'streams'];

export function renderApiPages(): readonly ApiPage[] {
  const pages = PACKAGES.map((name): ApiPage => ({ name, text: pageOf(name) }));
  const list = PACKAGES.map((name) => `- [@syncline/${name}](${name}.md)`).join('\n');
  const index = `# TypeScript API

The exports of each package, with their types and comments. \`/testing\` entry points are left out.

${list}
`;
  return [{ name: 'README', text: index }, ...pages];
}

function pageOf(name: string): string {
  const sections = entryPointsOf(name).map(
    ({ specifier, path }) => `## ${specifier}\n\n${declarationsOf(path).join('\n\n')}\n`,
  );
  return `# @syncline/${name}\n\n${sections.join('\n')}`;
}

function entryPointsOf(name: string): readonly EntryPoint[] {
  const manifest = JSON.parse(read(`packages/${name}/package.json`)) as {
    readonly exports: Readonly<Record<string, { readonly types: string }>>;
  };
  return Object.entries(manifest.exports)
    .filter(([door]) => door !== './testing')
    .map(([door, { types }]) => ({
      specifier: `@syncline/${name}${door.slice(1)}`,
      path: join('packages', name, types),
    }));
}

function declarationsOf(door: string): readonly string[] {
  const found: { readonly name: string; readonly text: string }[] = [];
  for (const statement of parse(door).body) {
    if (statement.type !== 'ExportNamedDeclaration' || statement.source === null) continue;
    const path = join(dirname(door), statement.source.value.replace(/\.js$/, '.d.ts'));
    for (const { exported } of statement.specifiers) {
      if (exported.type !== 'Identifier') continue;
      found.push({ name: exported.name, text: declarationOf(path, exported.name) });
    }
  }
  return found
    .toSorted((left, right) => left.name.localeCompare(right.name, 'en'))
    .map(({ name, text }) => `### ${name}\n\n\`\`\`typescript\n${text}\n\`\`\``);
}

/** With the comment before it. Overloads are separate statements. */
function declarationOf(path: string, name: string): string {
  const text = read(path);
  const { body, comments } = parse(path);
  const texts = body
    .filter((statement) => namesOf(statement).includes(name))
    .map(({ start, end }) => {
      const comment = comments.findLast((one) => one.end <= start);
      const isAttached =
        comment?.value.startsWith('*') === true && text.slice(comment.end, start).trim() === '';
      return text.slice(isAttached ? comment.start : start, end);
    });
  if (texts.length === 0) throw new Error(`${path} declares no ${name}`);
  return texts
    .join('\n')
    .replaceAll(/^export (declare )?/gm, '')
    .replaceAll(/^ *(#private;|private .*;)\n/gm, '');
}

type Program = ReturnType<typeof parseSync>['program'];

function namesOf(statement: Program['body'][number]): readonly string[] {
  if (statement.type !== 'ExportNamedDeclaration' || statement.declaration === null) return [];
  const { declaration } = statement;
  if (declaration.type === 'VariableDeclaration') {
    return declaration.declarations.flatMap(({ id }) => (id.type === 'Identifier' ? id.name : []));
  }
  const { id } = declaration as { readonly id?: { readonly name?: string } | null };
  return id?.name === undefined ? [] : [id.name];
}

function parse(path: string) {
  const { program, comments } = parseSync(path, read(path));
  return { body: program.body, comments };
}

function read(path: string): string {
  return readFileSync(join(repositoryRoot, path), 'utf8');
}
