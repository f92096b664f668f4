import type { Engine } from '../../../src/domain/outside/outside.ts';
import { onTestFinished } from 'vitest';
import { createDockerEngine, type DockerEngineOptions } from '../../../src/adapters/docker/engine.ts';
import { createSystemClock } from '../../../src/adapters/process/clock.ts';
import { startScriptedEngine, type ScriptedEngine, type ScriptedEngineOptions } from './scripted-engine.ts';

/** The adapter, connected to a scripted engine; both end with the test. */
export async function connectedEngine(
  scripted: ScriptedEngineOptions = {},
  options: Partial<DockerEngineOptions> = {},
): Promise<{ readonly engine: Engine; readonly server: ScriptedEngine }> {
  const server = await startScriptedEngine(scripted);
  const engine = engineAt(server.host, options);
  onTestFinished(() => server.close());
  return { engine, server };
}

/** The adapter with the engine at this address; ends with the test. */
export function engineAt(host: string, options: Partial<DockerEngineOptions> = {}): Engine {
  const sshEnvironment = { PATH: process.env['PATH'] };
  const engine = createDockerEngine({ clock: createSystemClock(), host, sshEnvironment, ...options });
  onTestFinished(() => engine.close());
  return engine;
}
