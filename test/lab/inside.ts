// The lab's second process: starts engine and registry, then runs the command and ends with its exit code.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { catalogue } from './registry/catalogue.ts';
import { startEngine } from './engine/engine.ts';
import { isPodman } from './engine/podman.ts';
import { pushImage, pushIndex } from './registry/push.ts';
import { startRegistry } from './registry/registry.ts';

const dir = process.env['LAB_DIR'] ?? '';
const [command = 'bash', ...args] = process.argv.slice(2);

// `docker` in a shell of the lab finds it under its default address, too.
const [engine, registry] = await Promise.all([
  startEngine(dir, { name: 'engine', args: isPodman ? [] : ['--host', 'unix:///run/docker.sock'] }),
  startRegistry(dir, { port: 5000 }),
]);
for (const [tag, spec] of Object.entries(catalogue)) await pushImage(registry, 'app', tag, spec);
await pushIndex(registry, 'app', 'multi', catalogue.v1);
await pushIndex(registry, 'app', 'multi-oci', { ...catalogue.v2, format: 'oci' }, { attestations: true });
await pushIndex(registry, 'app', 'arm-only', catalogue.v1, { platforms: [{ os: 'linux', architecture: 'arm64' }] });

const child = spawn(command, args, {
  stdio: 'inherit',
  env: {
    ...process.env,
    LAB_SOCKET: engine.socket,
    LAB_REGISTRY: registry.host,
  },
});
// An interrupt from the keyboard is for the command; we end with it.
process.on('SIGINT', () => {});
child.on('error', (error) => {
  console.error(`lab: cannot run "${command}": ${error.message}`);
  process.exit(127);
});
child.on('close', (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : (code ?? 1)));
