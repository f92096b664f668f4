// `npm run record`: docs/demo.svg, a recording of `upkeep demo` in a terminal. The build comes first.
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import xterm from '@xterm/headless';
import { drawFilm } from './film.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const size = { cols: 104, rows: 34 };
const sampleMs = 250;
const rounds = 2;
// Shown in the recording; the token gives access to nothing.
const token = 'token-of-the-recording';

const frames = await record(
  `node dist/main.js demo --rounds ${rounds} --http-api-token ${token} --http-api-events-token ${token}-2`,
);
writeFileSync(`${root}docs/demo.svg`, drawFilm(frames, size));
console.log(`docs/demo.svg: ${frames.length} frames of ${(frames.at(-1).endMs / 1000).toFixed(0)} s`);

/** Frames `{ rows, endMs }`; a row is a list of `{ column, text, colour, bold }`. Equal frames are one. */
async function record(command) {
  const terminal = new xterm.Terminal({ ...size, allowProposedApi: true, convertEol: false });
  const frames = [];
  const startedAt = performance.now();
  const sample = () => {
    const rows = readRows(terminal.buffer.active);
    const endMs = performance.now() - startedAt;
    const last = frames.at(-1);
    if (last !== undefined && JSON.stringify(last.rows) === JSON.stringify(rows)) last.endMs = endMs;
    else frames.push({ rows, endMs });
  };
  // A pseudo-terminal: https://man7.org/linux/man-pages/man1/script.1.html
  const shell = `stty cols ${size.cols} rows ${size.rows}; exec ${command}`;
  const child = spawn('script', ['-qefc', shell, '/dev/null'], {
    cwd: root,
    env: { PATH: process.env.PATH, TERM: 'xterm-256color' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  child.stdout.on('data', (chunk) => terminal.write(chunk));
  const timer = setInterval(sample, sampleMs);
  const code = await new Promise((resolve) => child.on('close', resolve));
  clearInterval(timer);
  await new Promise((resolve) => terminal.write('', resolve));
  sample();
  if (code !== 0) throw new Error(`Cannot record the demo: it ended with exit code ${code}`);
  return frames;
}

function readRows(buffer) {
  return Array.from({ length: size.rows }, (_, index) => readRow(buffer.getLine(buffer.viewportY + index)));
}

function readRow(line) {
  const spans = [];
  for (let column = 0; column < size.cols; column += 1) {
    const cell = line.getCell(column);
    const text = cell.getChars() || ' ';
    const colour = cell.isFgPalette() ? cell.getFgColor() : undefined;
    const bold = cell.isBold() !== 0;
    const last = spans.at(-1);
    if (last !== undefined && last.colour === colour && last.bold === bold) last.text += text;
    else spans.push({ column, text, colour, bold });
  }
  return spans.map((span) => ({ ...span, text: span.text.trimEnd() })).filter(({ text }) => text !== '');
}
