import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createTestLog } from '../../test/support/test-log.ts';
import { loadConfiguration } from '../config/read/load.ts';
import type { EngineRoute } from '../domain/outside/outside.ts';
import { openComposeFilesOf } from './open-engine.ts';

const routes: readonly (readonly [string, EngineRoute, boolean])[] = [
  ['behind a socket of this machine', { kind: 'socket', path: '/run/docker.sock' }, true],
  ['elsewhere', { kind: 'tcp', host: 'nas', port: 2376, peer: '192.0.2.7' }, false],
  [
    'behind TCP on this machine, which may be forwarded',
    { kind: 'tcp', host: 'localhost', port: 2375, peer: '127.0.0.1' },
    false,
  ],
  ['reached over SSH', { kind: 'ssh', host: 'nas', port: 22, peer: undefined }, false],
];

test.each(routes)('the compose files of an engine %s: %j %s', async (_, route, areRead) => {
  const roots = realpathSync(mkdtempSync(join(tmpdir(), 'upkeep-roots-')));
  onTestFinished(() => rmSync(roots, { recursive: true }));
  writeFileSync(join(roots, 'compose.yaml'), 'services: {web: {image: "nginx:1.27"}}\n');
  const loaded = loadConfiguration(['check', '--compose-files', 'check', '--compose-roots', roots], {});
  if (loaded.kind !== 'command') throw new Error('no command');
  const log = createTestLog();
  const engine = { route: () => route, inspectContainer: () => Promise.resolve(undefined) };
  const { composeFiles } = await openComposeFilesOf(engine, loaded.settings, { log });
  expect(composeFiles !== undefined).toBe(areRead);
  expect(log.lines.some(({ message }) => message.includes('another machine'))).toBe(!areRead);
});
