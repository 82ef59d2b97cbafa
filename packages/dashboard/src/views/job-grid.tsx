// Tasks × tags on a canvas: tags are rows, tasks run to the right and wrap into lines.
//
// Only the visible part is drawn, at most once per frame, from one sprite per class. So a hundred thousand cells cost
// as little as those that fit on the screen. Each class has its own shape in addition to its color.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { visible } from '../format.js';
import type { JobData } from '../job-data.js';
import { CLASS_NAMES } from '../marks.js';

const GAP = 2;
const LINE_HEAD = 16;
const LINE_GAP = 12;
const HEIGHT_MAX = 560;

interface Layout {
  readonly cell: number;
  readonly labelWidth: number;
  readonly tasksPerLine: number;
  readonly lineHeight: number;
  readonly lines: number;
  readonly height: number;
}

export interface JobGridViewProps {
  readonly data: JobData;
  readonly chosen: { readonly task: number; readonly tag: string };
  readonly onChoose: (task: number, tag: string) => void;
}

export function JobGridView({ data, chosen, onChoose }: JobGridViewProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [themeTurn, setThemeTurn] = useState(0);
  const tags = data.tags.map(({ tag }) => tag);
  const { numTasks } = data.job;
  const layout = useMemo(
    () => layoutOf(width, numTasks, tags.length),
    [width, numTasks, tags.length],
  );
  const latest = useRef({ data, chosen, layout, tags });
  latest.current = { data, chosen, layout, tags };
  const painter = useMemo(() => new GridPainter(), []);

  useEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    const onTheme = () => setThemeTurn((turn) => turn + 1);
    addEventListener('syncline:theme', onTheme);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', onTheme);
    return () => {
      observer.disconnect();
      removeEventListener('syncline:theme', onTheme);
      dark.removeEventListener('change', onTheme);
      painter.cancel();
    };
  }, [painter]);

  const draw = () => {
    if (canvas.current !== null && scroller.current !== null)
      painter.request(canvas.current, scroller.current, () => latest.current);
  };
  useEffect(() => {
    painter.forgetTheme();
  }, [themeTurn, painter]);
  useEffect(draw, [data, layout, chosen.task, chosen.tag, themeTurn]);
  useEffect(() => {
    if (chosen.task >= 0 && scroller.current !== null)
      reveal(scroller.current, layout, chosen.task);
  }, [chosen.task, layout]);

  const cellAt = (event: MouseEvent) => hit(event, scroller.current, { layout, tags, numTasks });
  const onKeyDown = (event: KeyboardEvent) => {
    const moved = moveBy(event.key, chosen, { layout, tags, numTasks });
    if (moved === undefined) return;
    event.preventDefault();
    onChoose(moved.task, moved.tag);
  };
  const status = data.cells.get(chosen.tag)?.[chosen.task] ?? 0;
  return (
    <>
      <div
        ref={scroller}
        class="grid"
        style={{ height: `${Math.min(HEIGHT_MAX, layout.height)}px` }}
        tabIndex={0}
        role="group"
        aria-label={`Grid of ${numTasks} tasks and ${tags.length} tags. Arrow keys move from cell to cell.`}
        onScroll={draw}
        onKeyDown={onKeyDown}
        onClick={(event) => {
          const found = cellAt(event);
          if (found !== undefined) onChoose(found.task, found.tag);
        }}
        onMouseMove={(event) => {
          const found = cellAt(event);
          event.currentTarget.title = found === undefined ? '' : describe(data, found);
        }}
      >
        <canvas ref={canvas} aria-hidden="true" />
        <div class="grid-space" style={{ height: `${layout.height}px` }} />
      </div>
      <p class="visually-hidden" aria-live="polite">
        {chosen.task >= 0 &&
          `Task ${chosen.task}, tag ${visible(chosen.tag)}: ${CLASS_NAMES[status] ?? 'unknown'}`}
      </p>
    </>
  );
}

function describe(
  { cells }: JobData,
  { task, tag }: { readonly task: number; readonly tag: string },
): string {
  return `task ${task} · ${visible(tag)} · ${CLASS_NAMES[cells.get(tag)?.[task] ?? 0] ?? ''}`;
}

function layoutOf(width: number, numTasks: number, tagsCount: number): Layout {
  const cell = numTasks <= 200 ? 24 : numTasks <= 1_000 ? 16 : 11;
  const labelWidth = width < 600 ? 64 : 104;
  const tasksPerLine = Math.max(1, Math.floor((width - labelWidth - 4) / (cell + GAP)));
  const lines = Math.ceil(numTasks / tasksPerLine);
  const lineHeight = LINE_HEAD + tagsCount * (cell + GAP) + LINE_GAP;
  return { cell, labelWidth, tasksPerLine, lineHeight, lines, height: lines * lineHeight };
}

interface Extent {
  readonly layout: Layout;
  readonly tags: readonly string[];
  readonly numTasks: number;
}

function hit(
  event: MouseEvent,
  scroller: HTMLElement | null,
  { layout, tags, numTasks }: Extent,
): { readonly task: number; readonly tag: string } | undefined {
  if (scroller === null) return undefined;
  const box = scroller.getBoundingClientRect();
  const x = event.clientX - box.left - layout.labelWidth;
  const y = event.clientY - box.top + scroller.scrollTop;
  const line = Math.floor(y / layout.lineHeight);
  const column = Math.floor(x / (layout.cell + GAP));
  const tag = tags[Math.floor((y - line * layout.lineHeight - LINE_HEAD) / (layout.cell + GAP))];
  const task = line * layout.tasksPerLine + column;
  const isInside = column >= 0 && column < layout.tasksPerLine && task < numTasks;
  return isInside && tag !== undefined ? { task, tag } : undefined;
}

function moveBy(
  key: string,
  chosen: { readonly task: number; readonly tag: string },
  { layout, tags, numTasks }: Extent,
): { readonly task: number; readonly tag: string } | undefined {
  if (key === 'Escape') return { task: -1, tag: '' };
  const steps: Readonly<Record<string, readonly [number, number]>> = {
    ArrowLeft: [-1, 0],
    ArrowRight: [1, 0],
    ArrowUp: [0, -1],
    ArrowDown: [0, 1],
    PageUp: [-layout.tasksPerLine, 0],
    PageDown: [layout.tasksPerLine, 0],
    Home: [-numTasks, 0],
    End: [numTasks, 0],
  };
  const step = steps[key];
  if (step === undefined) return undefined;
  if (chosen.task < 0) return { task: 0, tag: tags[0] ?? '' };
  const task = Math.min(numTasks - 1, Math.max(0, chosen.task + step[0]));
  const row = Math.min(tags.length - 1, Math.max(0, tags.indexOf(chosen.tag) + step[1]));
  return { task, tag: tags[row] ?? '' };
}

function reveal(scroller: HTMLElement, layout: Layout, task: number): void {
  const top = Math.floor(task / layout.tasksPerLine) * layout.lineHeight;
  const isAbove = top < scroller.scrollTop;
  const isBelow = top + layout.lineHeight > scroller.scrollTop + scroller.clientHeight;
  if (isAbove || isBelow) scroller.scrollTop = top;
}

interface Drawn {
  readonly data: JobData;
  readonly chosen: { readonly task: number; readonly tag: string };
  readonly layout: Layout;
  readonly tags: readonly string[];
}

/** Draws at most once per frame, with the latest data at that time. */
class GridPainter {
  #frame = 0;
  #sprites: readonly HTMLCanvasElement[] = [];
  #spriteKey = '';

  request(canvas: HTMLCanvasElement, scroller: HTMLElement, latest: () => Drawn): void {
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw(canvas, scroller, latest());
    });
  }

  cancel(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
  }

  forgetTheme(): void {
    this.#spriteKey = '';
  }

  #draw(
    canvas: HTMLCanvasElement,
    scroller: HTMLElement,
    { data, chosen, layout, tags }: Drawn,
  ): void {
    const scale = devicePixelRatio;
    const width = scroller.clientWidth;
    const height = scroller.clientHeight;
    if (
      canvas.width !== Math.round(width * scale) ||
      canvas.height !== Math.round(height * scale)
    ) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    const context = canvas.getContext('2d');
    if (context === null) return;
    const style = getComputedStyle(canvas);
    const color = (name: string) => style.getPropertyValue(name).trim();
    const key = `${layout.cell} ${scale}`;
    if (key !== this.#spriteKey) {
      this.#sprites = drawSprites(layout.cell, scale, color);
      this.#spriteKey = key;
    }
    const { cell, labelWidth, tasksPerLine, lineHeight } = layout;
    const { numTasks } = data.job;
    const top = scroller.scrollTop;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    context.textBaseline = 'middle';
    const lastLine = Math.min(layout.lines, Math.ceil((top + height) / lineHeight));
    for (let line = Math.floor(top / lineHeight); line < lastLine; line += 1) {
      const y = line * lineHeight - top;
      const first = line * tasksPerLine;
      const last = Math.min(numTasks, first + tasksPerLine);
      context.fillStyle = color('--muted');
      context.font = '11px system-ui, sans-serif';
      context.fillText('task', 0, y + LINE_HEAD / 2);
      const step = labelStep(context.measureText(String(numTasks)).width, cell + GAP);
      for (let task = first; task < last; task += step)
        context.fillText(
          String(task),
          labelWidth + (task - first) * (cell + GAP),
          y + LINE_HEAD / 2,
        );
      context.font = `${Math.min(12, cell)}px system-ui, sans-serif`;
      for (const [row, tag] of tags.entries()) {
        const rowY = y + LINE_HEAD + row * (cell + GAP);
        if (rowY > height || rowY + cell < 0) continue;
        context.fillStyle = color('--text');
        context.fillText(shortened(context, visible(tag), labelWidth - 8), 0, rowY + cell / 2);
        const column = data.cells.get(tag);
        for (let task = first; task < last; task += 1) {
          const sprite = this.#sprites[column?.[task] ?? 0];
          const x = labelWidth + (task - first) * (cell + GAP);
          if (sprite !== undefined) context.drawImage(sprite, x, rowY, cell, cell);
        }
      }
      if (chosen.task >= first && chosen.task < last) {
        const row = tags.indexOf(chosen.tag);
        const x = labelWidth + (chosen.task - first) * (cell + GAP);
        context.strokeStyle = color('--text');
        context.lineWidth = 2;
        if (row >= 0)
          context.strokeRect(x - 1, y + LINE_HEAD + row * (cell + GAP) - 1, cell + 2, cell + 2);
      }
    }
  }
}

/** Every how many columns there is room for a number. */
function labelStep(textWidth: number, columnWidth: number): number {
  const room = textWidth + 8;
  return [1, 2, 5, 10, 20].find((step) => step * columnWidth >= room) ?? 50;
}

function shortened(context: CanvasRenderingContext2D, text: string, width: number): string {
  const start = text.slice(0, 40);
  if (context.measureText(start).width <= width) return start;
  let length = start.length;
  while (length > 1 && context.measureText(`${start.slice(0, length)}…`).width > width) length -= 1;
  return `${start.slice(0, length)}…`;
}

/** Not started: an outline. Running: half filled. Finished: filled. Warned: with a bar. Failed: with a cross. */
function drawSprites(
  cell: number,
  scale: number,
  color: (name: string) => string,
): readonly HTMLCanvasElement[] {
  const names = ['--idle', '--busy', '--good', '--warn', '--bad'];
  return names.map((name, at) => {
    const canvas = document.createElement('canvas');
    canvas.width = Math.round(cell * scale);
    canvas.height = canvas.width;
    const context = canvas.getContext('2d');
    if (context === null) return canvas;
    context.scale(canvas.width / cell, canvas.width / cell);
    context.fillStyle = color(name);
    context.strokeStyle = color(name);
    context.lineWidth = Math.max(1, cell / 10);
    const inset = context.lineWidth / 2;
    const radius = cell / 5;
    context.beginPath();
    context.roundRect(inset, inset, cell - 2 * inset, cell - 2 * inset, radius);
    if (at === 0 || at === 1) context.stroke();
    else context.fill();
    if (at === 1) {
      context.beginPath();
      context.roundRect(inset, cell / 2, cell - 2 * inset, cell / 2 - inset, radius / 2);
      context.fill();
    }
    context.strokeStyle = color('--surface');
    context.lineWidth = Math.max(1.5, cell / 7);
    context.beginPath();
    if (at === 3) {
      context.moveTo(cell / 2, cell * 0.2);
      context.lineTo(cell / 2, cell * 0.8);
    } else if (at === 4) {
      context.moveTo(cell * 0.28, cell * 0.28);
      context.lineTo(cell * 0.72, cell * 0.72);
      context.moveTo(cell * 0.72, cell * 0.28);
      context.lineTo(cell * 0.28, cell * 0.72);
    }
    context.stroke();
    return canvas;
  });
}
