// The chart as an HTML page, with the figures in a table that can be copied.
import { drawPicture, type PictureChapter } from './picture.js';
import { escapeText } from './svg-text.js';

export interface PageTable {
  readonly title: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

const STYLE = `
:root{color-scheme:light dark}
body{max-width:960px;margin:24px auto;padding:0 16px;font:15px/1.5 system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;background:#fff;color:#1f2933}
svg{width:100%;height:auto}table{border-collapse:collapse;margin:8px 24px 32px;font-variant-numeric:tabular-nums}
caption{text-align:left;font-weight:600;padding:8px 0}th,td{padding:4px 18px 4px 0;text-align:right;border-bottom:1px solid #e4e7eb}
th:first-child,td:first-child{text-align:left}th{font-weight:500;color:#616e7c}
@media (prefers-color-scheme:dark){body{background:#12181f;color:#e4e7eb}th,td{border-color:#25303b}th{color:#9aa5b1}}`;

export function drawPage(
  chapters: readonly PictureChapter[],
  tables: readonly PageTable[],
): string {
  return [
    '<!doctype html>',
    '<html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>Fair throttling, evaluated</title><style>${STYLE}</style></head><body>`,
    drawPicture(chapters).trimEnd(),
    ...tables.map(drawTable),
    '</body></html>\n',
  ].join('\n');
}

function drawTable({ title, head, rows }: PageTable): string {
  const line = (cells: readonly string[], tag: 'th' | 'td') =>
    `<tr>${cells.map((cell) => `<${tag}>${escapeText(cell)}</${tag}>`).join('')}</tr>`;
  const body = rows.map((row) => line(row, 'td')).join('\n');
  return `<table><caption>${escapeText(title)}</caption>\n${line(head, 'th')}\n${body}\n</table>`;
}
