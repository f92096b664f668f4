// `npm run docs`: writes the pages that are made from the code. A unit test notices when they are out of date.
import { writeFileSync } from 'node:fs';
import { configurationPage } from '../dist/config/reference.js';
import { writeReliabilityPage } from './reliability.mjs';

writeFileSync(new URL('../docs/configuration.md', import.meta.url), configurationPage());
writeReliabilityPage();
