// Tests the built files on another Node: the version, the help, a check and an update against the demo's engine, over HTTP.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const deadlineMs = 60_000;

const version = run(['--version']);
expect(/^\S*\d+\.\d+\.\d+/.test(version.stdout.trim().split(' ').at(-1)), 'prints its version', version);
const help = run(['--help']);
expect(help.status === 0 && help.stdout.includes('update'), 'prints its help', help);
const wrong = run(['updaet']);
expect(wrong.status !== 0 && !wrong.stderr.includes('    at '), 'refuses a command that it does not know', wrong);
await useDemo();
console.log(`Node ${process.version}: 4 of 4`);

/** The demo prints its address, answers with its containers, and ends on SIGTERM. */
async function useDemo() {
  const demo = spawn(process.execPath, [main, 'demo', '--http-api-port', '0'], { stdio: ['ignore', 'pipe', 'pipe'] });
  const timer = setTimeout(() => demo.kill('SIGKILL'), deadlineMs);
  let printed = '';
  const address = await new Promise((resolve) => {
    const onEvent = (chunk) => {
      printed += chunk;
      const found = /http:\/\/[\w.:[\]]+:\d+/.exec(printed);
      if (found) resolve(found[0]);
    };
    demo.stdout.on('data', onEvent);
    demo.stderr.on('data', onEvent);
    demo.on('exit', () => resolve(undefined));
  });
  expect(address !== undefined, 'starts the demo', printed);
  const health = await fetch(`${address}/livez`, { signal: AbortSignal.timeout(deadlineMs) });
  expect(health.status === 200, 'answers over HTTP', printed);
  demo.kill('SIGTERM');
  const [code] = await once(demo, 'exit');
  clearTimeout(timer);
  expect(code === 0, 'ends on SIGTERM', printed);
}

function run(args) {
  return spawnSync(process.execPath, [main, ...args], { encoding: 'utf8', timeout: deadlineMs });
}

function expect(isSo, claim, evidence) {
  if (isSo) return;
  console.error(`Node ${process.version}: failed: Upkeep ${claim}`);
  console.error(evidence);
  process.exit(1);
}
