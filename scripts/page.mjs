// Builds the dashboard: the script of the page and of its worker, one style sheet, the document and its icon. `node scripts/page.mjs FOLDER`.
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { strictly } from './bundle.mjs';

const source = fileURLToPath(new URL('../src/interfaces/dashboard/', import.meta.url));

/** Resolves to the modules of the script. */
export async function buildPage(folder) {
  mkdirSync(folder, { recursive: true });
  for (const file of ['index.html', 'icon.svg']) copyFileSync(join(source, file), join(folder, file));
  writeFileSync(join(folder, 'page.css'), styleSheet());
  const modules = await Promise.all([
    bundle('main.ts', join(folder, 'page.js')),
    bundle('worker.ts', join(folder, 'worker.js')),
  ]);
  return [...new Set(modules.flat())];
}

async function bundle(entry, file) {
  const build = await rolldown({
    input: join(source, entry),
    platform: 'browser',
    tsconfig: false,
    ...strictly('the dashboard'),
  });
  try {
    const { output } = await build.write({ file, format: 'iife', codeSplitting: false, comments: false, minify: true });
    return output.flatMap(({ moduleIds = [] }) => moduleIds);
  } finally {
    await build.close();
  }
}

/** The sheets in the order of their names, without comments and indentation. */
function styleSheet() {
  const folder = join(source, 'styles');
  const sheets = readdirSync(folder).toSorted();
  const text = sheets.map((file) => readFileSync(join(folder, file), 'utf8')).join('\n');
  return text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/\n\s*/g, '\n');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildPage(resolve(process.argv[2] ?? 'dist/dashboard'));
