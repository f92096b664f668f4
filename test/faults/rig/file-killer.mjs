// Loaded into a process with --import: ends it with SIGKILL before, in the middle of, or after the KILL_AT-th change of a
// file whose path has the text KILL_IN. KILL_WHEN: before, torn or after.
import { readlinkSync } from 'node:fs';
import { open } from 'node:fs/promises';

const { KILL_AT: at, KILL_WHEN: when, KILL_IN: within = '' } = process.env;
const own = await open(import.meta.filename, 'r');
const methods = Object.getPrototypeOf(own);
await own.close();
let count = 0;

function end() {
  process.kill(process.pid, 'SIGKILL');
  return new Promise(() => {});
}

function isMeant({ fd }) {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`).includes(within);
  } catch {
    return false;
  }
}

for (const name of ['write', 'appendFile', 'writeFile', 'truncate', 'sync', 'datasync']) {
  const original = methods[name];
  methods[name] = async function changed(...given) {
    if (!isMeant(this) || (count += 1) !== Number(at)) return original.apply(this, given);
    if (when === 'before') return end();
    if (when === 'torn') {
      const [content, offset, length, position] = given;
      if (name === 'write') await original.call(this, content, offset, Math.ceil(length / 2), position);
      else if (name === 'appendFile') await original.call(this, content.slice(0, content.length / 2));
      else if (name === 'writeFile') await original.call(this, content.slice(0, content.length / 2));
      return end();
    }
    await original.apply(this, given);
    return end();
  };
}
