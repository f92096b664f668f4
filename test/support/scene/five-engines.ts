import { randomBytes } from 'node:crypto';
import { webServer } from '../../lab/registry/catalogue.ts';
import { pushImage } from '../../lab/registry/push.ts';
import type { EngineClient } from '../../lab/engine/engine-client.ts';
import type { LabEngine } from '../../lab/engine/engine.ts';
import { isPodman } from '../../lab/engine/podman.ts';
import type { Lab } from '../../lab/lab.ts';
import { createFaultProxy, type FaultProxy } from '../../lab/proxy/fault-proxy.ts';

/** The engine that has the faults. */
export type FaultyEngine = {
  readonly engine: LabEngine;
  /** Between Upkeep and the engine, on a port of 127.0.0.1. */
  readonly proxy: FaultProxy;
};

/** Five real engines, each with a container `web` of one image. */
export type FiveEngines = {
  readonly fifth: FaultyEngine;
  /** All five, by name. */
  readonly engines: Readonly<Record<string, EngineClient>>;
  /** The options `--host` for these names. */
  readonly hosts: (names: readonly string[]) => readonly string[];
  /** Moves the tag of the image to a new version; resolves to its digest. */
  readonly release: () => Promise<string>;
  readonly remove: () => Promise<void>;
};

export const four: readonly string[] = ['one', 'two', 'three', 'four'];
export const five: readonly string[] = [...four, 'five'];

/** `repository` of the image: unused by other tests. */
export async function startFiveEngines(lab: Lab, repository: string): Promise<FiveEngines> {
  if (isPodman) throw new Error('Cannot start five engines: Podman has no daemon to freeze, and no disk of its own');
  const image = `${lab.registry.host}/${repository}:1`;
  const started: Record<string, LabEngine> = {};
  for (const name of five) {
    const disk = name === 'five' ? { dataMiB: 256 } : {};
    started[name] = await lab.startEngine({ name: `${name}-of-five`, ...disk });
  }
  const { five: engine } = started;
  if (engine === undefined) throw new Error('The fifth engine has not been started');
  const proxy = await createFaultProxy({ listen: { port: 0 }, upstream: { socketPath: engine.socket } });
  const addressOf = (name: string) =>
    name === 'five' ? `tcp://127.0.0.1:${proxy.port}` : `unix://${started[name]?.socket}`;
  let version = 0;
  const release = async (): Promise<string> => {
    version += 1;
    const files = { payload: randomBytes(500_000).toString('hex') };
    const { digest } = await pushImage(lab.registry, repository, '1', { ...webServer(`v${version}`), files });
    return digest;
  };

  await release();
  for (const each of Object.values(started)) {
    await each.pull(image);
    await each.run('web', image, { StopTimeout: 1, HostConfig: { RestartPolicy: { Name: 'always' } } });
  }
  return {
    fifth: { engine, proxy },
    engines: started,
    hosts: (names) => names.flatMap((name) => ['--host', `${name}=${addressOf(name)}`]),
    release,
    async remove() {
      await proxy.close();
      for (const each of Object.values(started)) await each.remove();
    },
  };
}
