// Makes a PNG of a screen smaller: 256 colours instead of 16 million, which a page of flat colours does not miss.
//
// The most frequent colours are kept exactly, and some that are far from all of those, so that a gradient stays one. The
// others, mostly edges of letters, become the nearest of them.
import { crc32, deflateSync, inflateSync } from 'node:zlib';

const coloursMax = 256;
const frequentMax = 192;
const signature = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);

/**
 * @param {Buffer} png 8 bits per channel, RGB or RGBA, not interlaced, as Chromium writes it.
 * @returns {Buffer}
 */
export function toPalettePng(png) {
  const { width, height, pixels } = decode(png);
  const { palette, indexOf } = choosePalette(pixels);
  const rows = Buffer.alloc((width + 1) * height); // each begins with its filter: none
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1)
      rows[y * (width + 1) + 1 + x] = indexOf(pixels[y * width + x] ?? 0);
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8); // 8 bits, palette
  const colours = Buffer.from(
    palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]),
  );
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('PLTE', colours),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** @param {Buffer} png */
function decode(png) {
  const width = png.readUInt32BE(16);
  const height = png.readUInt32BE(20);
  const channels = png[25] === 6 ? 4 : 3;
  const data = [];
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT')
      data.push(png.subarray(at + 8, at + 8 + length));
    at += length + 12;
  }
  const bytes = inflateSync(Buffer.concat(data));
  const stride = width * channels;
  const pixels = new Uint32Array(width * height);
  let above = Buffer.alloc(stride);
  for (let y = 0; y < height; y += 1) {
    const start = y * (stride + 1);
    const row = bytes.subarray(start + 1, start + 1 + stride);
    unfilter(bytes[start] ?? 0, row, above, channels);
    for (let x = 0; x < width; x += 1) pixels[y * width + x] = row.readUIntBE(x * channels, 3);
    above = row;
  }
  return { width, height, pixels };
}

/**
 * Undoes the filter of a row, in place.
 *
 * @param {number} filter
 * @param {Buffer} row
 * @param {Buffer} above
 * @param {number} step
 */
function unfilter(filter, row, above, step) {
  for (let at = 0; at < row.length; at += 1) {
    const left = row[at - step] ?? 0;
    const up = above[at] ?? 0;
    const corner = above[at - step] ?? 0;
    const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter] ?? 0;
    row[at] = (row[at] ?? 0) + guess;
  }
}

/**
 * @param {number} left
 * @param {number} up
 * @param {number} corner
 */
function paeth(left, up, corner) {
  const estimate = left + up - corner;
  const [toLeft, toUp, toCorner] = [left, up, corner].map((value) => Math.abs(estimate - value));
  if (toLeft !== undefined && toUp !== undefined && toCorner !== undefined) {
    if (toLeft <= toUp && toLeft <= toCorner) return left;
    if (toUp <= toCorner) return up;
  }
  return corner;
}

/** @param {Uint32Array} pixels */
function choosePalette(pixels) {
  /** @type {Map<number, number>} */
  const counts = new Map();
  for (const colour of pixels) counts.set(colour, (counts.get(colour) ?? 0) + 1);
  const byCount = [...counts].sort(([, a], [, b]) => b - a);
  const palette = byCount.slice(0, frequentMax).map(([colour]) => colour);
  const rest = byCount.slice(frequentMax).map(([colour, count]) => ({
    colour,
    count,
    error: Math.min(...palette.map((kept) => distance(colour, kept))),
  }));
  while (palette.length < coloursMax && rest.length > 0) {
    const worst = rest.reduce((a, b) => (b.count * b.error > a.count * a.error ? b : a));
    palette.push(worst.colour);
    for (const other of rest)
      other.error = Math.min(other.error, distance(other.colour, worst.colour));
  }
  const indexes = new Map(palette.map((colour, index) => [colour, index]));
  /** @param {number} colour */
  const indexOf = (colour) => {
    const known = indexes.get(colour);
    if (known !== undefined) return known;
    const distances = palette.map((other) => distance(colour, other));
    const nearest = distances.indexOf(Math.min(...distances));
    indexes.set(colour, nearest);
    return nearest;
  };
  return { palette, indexOf };
}

/**
 * @param {number} a
 * @param {number} b
 */
function distance(a, b) {
  const red = (a >> 16) - (b >> 16);
  const green = ((a >> 8) & 255) - ((b >> 8) & 255);
  const blue = (a & 255) - (b & 255);
  return 3 * red * red + 6 * green * green + blue * blue;
}

/**
 * @param {string} name
 * @param {Buffer} data
 */
function chunk(name, data) {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), data]);
  const result = Buffer.alloc(body.length + 8);
  result.writeUInt32BE(data.length, 0);
  body.copy(result, 4);
  result.writeUInt32BE(crc32(body) >>> 0, body.length + 4);
  return result;
}
