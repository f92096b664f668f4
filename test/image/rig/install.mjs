// Requirements of the image suite that need the network: fetched before the lab, which has none.
//   node test/image/rig/install.mjs      by hand, before `npm run lab -- npx vitest run --project image`
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { obtainPlugins } from '../../lab/engine/engines.mjs';
import { installExamples } from '../../lab/install.mjs';

const nodes = fileURLToPath(new URL('../../nodes/', import.meta.url));

/** Undefined if everything is available now; otherwise the reason, as a message. */
export function installImage({ log = () => {} } = {}) {
  const failure = installExamples({ log }) ?? obtainPlugins({ log }).failure;
  if (failure) return failure;
  if (existsSync(`${nodes}node_modules/node-24/bin/node`)) return undefined;
  log('fetching Node 24 for the base image');
  const { status, stderr } = spawnSync('npm', ['ci', '--prefix', nodes, '--no-audit', '--no-fund'], {
    encoding: 'utf8',
  });
  return status === 0 ? undefined : `npm could not fetch Node 24: ${stderr.trim()}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const failure = installImage({ log: console.log });
  if (failure) {
    console.error(`Cannot prepare the image suite: ${failure}`);
    process.exitCode = 1;
  }
}
