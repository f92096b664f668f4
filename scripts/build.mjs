// `npm run build`: makes dist/, the shipped files. dist/main.js is the program.
import { chmodSync, copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleProgram } from './bundle.mjs';
import { licencesOf } from './licences.mjs';
import { buildPage } from './page.mjs';

const dist = fileURLToPath(new URL('../dist', import.meta.url));
rmSync(dist, { recursive: true, force: true });
const chunks = await bundleProgram(dist);
chmodSync(join(dist, 'main.js'), 0o755);
writeManifest();
const swagger = dirname(createRequire(import.meta.url).resolve('@fastify/swagger-ui/package.json'));
const page = await buildPage(join(dist, 'dashboard'));
const modules = [...chunks.flatMap(({ moduleIds }) => moduleIds), ...page];
writeFileSync(join(dist, 'THIRD-PARTY-LICENSES.txt'), licencesOf([...modules, join(swagger, 'package.json')]));
copyAssets();

/** Copies the files of the documentation page. */
function copyAssets() {
  const folder = join(dist, 'swagger-ui');
  mkdirSync(folder);
  for (const file of ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png'])
    copyFileSync(join(swagger, 'static', file), join(folder, file));
}

/** The package is of type module, its bundle is CommonJS. An image contains dist/ alone. */
function writeManifest() {
  const { name, version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  writeFileSync(join(dist, 'package.json'), `${JSON.stringify({ name, version, type: 'commonjs' }, undefined, 2)}\n`);
}
