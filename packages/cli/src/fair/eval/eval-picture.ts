// Writes the chart of an evaluation: each scenario without throttling, and with the largest fleet of each policy.
import { accessSync, constants, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { SynclineError } from '@syncline/kernel';
import type { PicturePanel } from '../picture/panel.js';
import { drawPicture, type PictureChapter } from '../picture/picture.js';
import { drawPage, type PageTable } from '../picture/picture-page.js';
import { type PictureTarget, shortName } from './eval-plan.js';
import { isShared, rowTitle } from './eval-row.js';
import type { ScenarioResult, SeriesResult } from './eval-scenario.js';
import { describeScenario, FIGURE_NAMES, figures } from './eval-table.js';

/** Called before the evaluation, which takes long. Throws `invalid-argument` if the file cannot be written. */
export function checkPicture({ file }: PictureTarget): void {
  try {
    accessSync(dirname(file), constants.W_OK);
    if (statSync(file, { throwIfNoEntry: false })?.isDirectory())
      throw new Error('it is a directory');
  } catch (cause) {
    throw cannotWrite(cause);
  }
}

/** Throws `invalid-argument` if the file cannot be written. */
export function writePicture({ file, format }: PictureTarget, results: readonly ScenarioResult[]) {
  const chapters = results.map(chapterOf);
  const text = format === 'svg' ? drawPicture(chapters) : drawPage(chapters, results.map(tableOf));
  try {
    writeFileSync(file, text);
  } catch (cause) {
    throw cannotWrite(cause);
  }
}

function cannotWrite(cause: unknown): SynclineError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new SynclineError('invalid-argument', `cannot write --picture: ${reason}.`, { cause });
}

function chapterOf({ scenario, rows }: ScenarioResult): PictureChapter {
  const { durationSeconds, capacityPerSecond } = scenario;
  const panels = rows.filter((result) => isPictured(result, rows)).map(panelOf);
  const subtitle = describeScenario(scenario);
  return {
    title: headline(shortName(scenario)),
    subtitle,
    durationSeconds,
    capacityPerSecond,
    panels,
  };
}

/** The row without throttling and, for each policy, the largest fleet that shares state or else the single instance. */
function isPictured({ row }: SeriesResult, rows: readonly SeriesResult[]): boolean {
  if (row.kind === 'open') return true;
  const rivals = rows.filter(
    ({ row: other }) => other.kind === 'fleet' && other.policy === row.policy,
  );
  const best = rivals.findLast(({ row: other }) => isShared(other)) ?? rivals[0];
  return best?.row === row;
}

function panelOf({ row, verdict, series }: SeriesResult): PicturePanel {
  const [jain, , used = ''] = figures(verdict);
  return { title: headline(rowTitle(row)), figures: `J ${jain}, used ${used.trim()}`, series };
}

function tableOf({ scenario, rows }: ScenarioResult): PageTable {
  return {
    title: headline(shortName(scenario)),
    head: ['', ...FIGURE_NAMES],
    rows: rows.map(({ row, verdict }) => [rowTitle(row), ...figures(verdict)]),
  };
}

function headline(text: string): string {
  const words = text.replaceAll('-', ' ');
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}
