// The last step of `npm run build`: the files of the documentation page, beside the program that serves them.
import { copyFileSync, mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const from = join(dirname(createRequire(import.meta.url).resolve('@fastify/swagger-ui/package.json')), 'static');
const to = fileURLToPath(new URL('../dist/swagger-ui/', import.meta.url));

mkdirSync(to, { recursive: true });
for (const file of ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png'])
  copyFileSync(join(from, file), join(to, file));
