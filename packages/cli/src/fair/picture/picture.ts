// The chart of an evaluation as SVG: for each scenario the client classes over time, without and with throttling. A
// solid line shows what a class was served, a dashed line its fair share; the tinted area between them shows the
// unfairness.
//
// It is self-contained and follows the reader's light or dark theme.
import { drawPanel, PANEL_HEIGHT, type PicturePanel } from './panel.js';
import { escapeText } from './svg-text.js';

export interface PictureChapter {
  readonly title: string;
  readonly subtitle: string;
  readonly durationSeconds: number;
  readonly capacityPerSecond: number;
  readonly panels: readonly PicturePanel[];
}

const PICTURE_WIDTH = 960;
const MARGIN = 24;
const HEAD_HEIGHT = 76;

const STYLE = `
text{font:13px system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;fill:#1f2933}
.title{font-size:19px;font-weight:650}.name{font-size:14px;font-weight:600}.soft{fill:#616e7c}
.tick{font-size:11px;fill:#7b8794;font-variant-numeric:tabular-nums}
.back{fill:#fff}.grid{stroke:#e4e7eb}.base{stroke:#9aa5b1}.cap{stroke:#7b8794;stroke-dasharray:1 4;stroke-linecap:round}
.line{fill:none;stroke-width:2.2;stroke-linejoin:round;stroke-linecap:round}
.share{fill:none;stroke-width:1.6;stroke-dasharray:6 5;opacity:.75}.gap{stroke:none;opacity:.13}
.c0{stroke:#1668c7}.c1{stroke:#d9480f}.c2{stroke:#0b7a55}.f0{fill:#1668c7}.f1{fill:#d9480f}.f2{fill:#0b7a55}
.key{stroke:#616e7c}
@media (prefers-color-scheme:dark){
text{fill:#e4e7eb}.soft{fill:#9aa5b1}.tick{fill:#8793a0}
.back{fill:#12181f}.grid{stroke:#25303b}.base{stroke:#52606d}.cap{stroke:#7b8794}.gap{opacity:.2}
.c0{stroke:#62b0ff}.c1{stroke:#ff9457}.c2{stroke:#46c99b}.f0{fill:#62b0ff}.f1{fill:#ff9457}.f2{fill:#46c99b}
.key{stroke:#9aa5b1}
}`;

export function drawPicture(chapters: readonly PictureChapter[]): string {
  const parts: string[] = [];
  let top = 0;
  for (const chapter of chapters) {
    parts.push(`<g transform="translate(0 ${top})">${drawChapter(chapter)}</g>`);
    top += HEAD_HEIGHT + chapter.panels.length * PANEL_HEIGHT + MARGIN;
  }
  const label = escapeText(chapters.map(({ title }) => title).join(', '));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${PICTURE_WIDTH} ${top}" role="img" aria-label="${label}: served requests per second of each class of clients">`,
    `<style>${STYLE}</style>`,
    `<rect class="back" width="${PICTURE_WIDTH}" height="${top}"/>`,
    ...parts,
    '</svg>\n',
  ].join('\n');
}

function drawChapter(chapter: PictureChapter): string {
  const { durationSeconds, capacityPerSecond } = chapter;
  const frame = { width: PICTURE_WIDTH, margin: MARGIN, durationSeconds, capacityPerSecond };
  const panels = chapter.panels.map((panel, index) => {
    const top = HEAD_HEIGHT + index * PANEL_HEIGHT;
    return `<g transform="translate(0 ${top})">${drawPanel(panel, frame)}</g>`;
  });
  return [
    `<text class="title" x="${MARGIN}" y="36">${escapeText(chapter.title)}</text>`,
    `<text class="soft" x="${MARGIN}" y="57">${escapeText(chapter.subtitle)}</text>`,
    drawKey(),
    ...panels,
  ].join('\n');
}

/** The legend for the two kinds of lines, at the top right. */
function drawKey(): string {
  const right = PICTURE_WIDTH - MARGIN;
  return [
    `<path class="line key" d="M${right - 190} 32h26"/>`,
    `<text class="soft" x="${right - 158}" y="36">served</text>`,
    `<path class="share key" d="M${right - 100} 32h28"/>`,
    `<text class="soft" x="${right - 66}" y="36">fair share</text>`,
  ].join('');
}
