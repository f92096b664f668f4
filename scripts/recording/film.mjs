// Frames of a terminal as one animated SVG.

const cell = { width: 8.4, height: 18 };
const margin = 16;
/** Time for which the last frame is shown. */
const restMs = 6000;
/** The dark theme of the page. Numbers of colours: https://en.wikipedia.org/wiki/ANSI_escape_code#3-bit_and_4-bit */
const theme = {
  background: '#161614',
  text: '#edece8',
  1: '#ff9188',
  2: '#6fcb99',
  3: '#eab660',
  6: '#96adff',
  8: '#918e85',
};

/** Each row is drawn once; a frame is a list of rows. With reduced motion, the last frame stands still. */
export function drawFilm(frames, { cols, rows }) {
  const width = Math.ceil(cols * cell.width + 2 * margin);
  const height = rows * cell.height + 2 * margin;
  const known = new Map();
  const pictures = frames.map(({ rows: lines }, index) => drawFrame(lines, { x: index * width, known }));
  const totalMs = frames.at(-1).endMs + restMs;
  const beginnings = [0, ...frames.slice(0, -1).map(({ endMs }) => endMs)];
  const steps = beginnings.map(
    (ms, index) => `${((100 * ms) / totalMs).toFixed(2)}%{transform:translateX(${-index * width}px)}`,
  );
  const last = -(frames.length - 1) * width;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="The demo of Upkeep in a terminal">`,
    '<style>',
    'text{font:14px ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre}',
    `.film{animation:play ${(totalMs / 1000).toFixed(2)}s step-end infinite}`,
    `@keyframes play{${steps.join('')}100%{transform:translateX(${last}px)}}`,
    `@media (prefers-reduced-motion:reduce){.film{animation:none;transform:translateX(${last}px)}}`,
    '</style>',
    `<rect width="${width}" height="${height}" rx="10" fill="${theme.background}"/>`,
    `<defs>${[...known.values()].map(({ id, drawing }) => `<g id="${id}">${drawing}</g>`).join('\n')}</defs>`,
    `<g class="film">`,
    ...pictures,
    '</g>',
    '</svg>',
    '',
  ].join('\n');
}

function drawFrame(lines, { x, known }) {
  const uses = lines.flatMap((spans, row) => {
    if (spans.length === 0) return [];
    const drawing = spans.map(drawSpan).join('');
    const entry = known.get(drawing) ?? { id: `r${known.size}`, drawing };
    known.set(drawing, entry);
    return `<use href="#${entry.id}" x="${margin}" y="${margin + (row + 0.75) * cell.height}"/>`;
  });
  return `<g transform="translate(${x})">${uses.join('')}</g>`;
}

/** The length is given, so that columns are aligned in every font. */
function drawSpan({ column, text, colour, bold }) {
  const x = (column * cell.width).toFixed(1);
  const length = (text.length * cell.width).toFixed(1);
  const weight = bold ? ' font-weight="bold"' : '';
  return `<text x="${x}" textLength="${length}" fill="${theme[colour] ?? theme.text}"${weight}>${escape(text)}</text>`;
}

function escape(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
