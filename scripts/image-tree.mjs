// `node scripts/image-tree.mjs FOLDER`: the files of the image, from dist/, as one tree for the Dockerfile to copy.
// Modes and times are fixed, so that the same sources make the same layer.
import {
  chmodSync,
  cpSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const dist = fileURLToPath(new URL('../dist', import.meta.url));
/** Seconds since 1970: 2024-01-01, unless https://reproducible-builds.org/specs/source-date-epoch/ is given. */
const builtAt = Number(process.env.SOURCE_DATE_EPOCH || 1_704_067_200);

const [folder] = process.argv.slice(2);
if (!folder) {
  console.error('Cannot make the tree of the image: no folder is named: node scripts/image-tree.mjs FOLDER');
  process.exit(2);
}
// Source maps are half of dist/, and are used for stack traces only.
cpSync(dist, join(folder, 'app'), { recursive: true, filter: (path) => !path.endsWith('.map') });
cpSync(fileURLToPath(new URL('../LICENSE', import.meta.url)), join(folder, 'app/LICENSE'));
// Small images have no `env`. The base of the build has the same Node in the same place.
const main = join(folder, 'app/main.js');
writeFileSync(main, readFileSync(main, 'utf8').replace(/^#!.*/, `#!${process.execPath}`));
mkdirSync(join(folder, 'data'), { recursive: true });
mkdirSync(join(folder, 'usr/local/bin'), { recursive: true });
symlinkSync('/app/main.js', join(folder, 'usr/local/bin/upkeep'));
settle(folder);
// Writable for every user, also as a new volume: the image does not choose the user.
chmodSync(join(folder, 'data'), 0o1777);

/** Contents first, because changing them changes the time of their folder. */
function settle(path) {
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const child = join(path, entry.name);
    if (entry.isDirectory()) settle(child);
    else {
      if (entry.isFile()) chmodSync(child, entry.name === 'main.js' ? 0o755 : 0o644);
      lutimesSync(child, builtAt, builtAt);
    }
  }
  chmodSync(path, 0o755);
  lutimesSync(path, builtAt, builtAt);
}
