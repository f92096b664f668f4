import { createDockerEngine } from '../../../src/adapters/docker/engine.ts';
import { createSystemClock } from '../../../src/adapters/process/clock.ts';
import type { EngineClient } from '../../lab/engine/engine-client.ts';
import { httpRequest } from '../../lab/http.ts';
import { tar } from '../../lab/registry/tar.ts';
import { buildImage } from '../../lab/registry/image.ts';
import type { ImageSpec } from '../../lab/registry/image.ts';
import type { Lab } from '../../lab/lab.ts';
import { pushImage, pushIndex } from '../../lab/registry/push.ts';
import { eventually, programConfigs, type EngineFixture, type Program, type PublishedImage } from './fixture.ts';

const service = "trap 'exit 0' TERM; sleep 1000000 & wait";

const commands: Readonly<Record<Program, readonly string[] | undefined>> = {
  service: ['sh', '-c', service],
  deaf: ['sh', '-c', "trap '' TERM; while :; do sleep 1; done"],
  lingering: ['sh', '-c', "trap 'sleep 1; exit 0' TERM; echo listening; sleep 1000000 & wait"],
  crash: ['sh', '-c', 'exit 3'],
  short: ['sleep', '0.3'],
  // The pauses keep the order: output and errors reach the engine through separate pipes.
  talkative: ['sh', '-c', 'echo one; sleep 0.3; echo two >&2; sleep 0.3; echo three'],
  missing: ['/nothing-here'],
  healthy: ['sh', '-c', service],
  sick: ['sh', '-c', service],
  defaults: ['sh', '-c', service],
  storing: ['sh', '-c', service],
  silent: undefined,
  writing: ['sh', '-c', `echo one >/tmp/log; ${service}`],
};

/** A real engine: the shared one of the lab, or an own one. */
export async function dockerFixture(
  { registry }: Lab,
  raw: EngineClient & { readonly socket: string },
): Promise<EngineFixture> {
  const clock = createSystemClock();
  const connect = () => createDockerEngine({ host: `unix://${raw.socket}`, clock });
  const image = (program: Program) => `${registry.host}/contract/${program}:latest`;
  await raw.clear();
  for (const program of Object.keys(commands) as Program[]) {
    await pushImage(registry, `contract/${program}`, 'latest', specOf(program));
    await raw.pull(image(program));
  }
  const programImages = new Set(await imageIds());
  const engine = connect();

  async function imageIds(): Promise<readonly string[]> {
    const { body } = await raw.call('GET', '/images/json?all=1');
    return (body as readonly { Id: string }[]).map(({ Id }) => Id);
  }

  async function push(repository: string, tag: string, image: PublishedImage): Promise<string> {
    const spec = specOf(image.program ?? 'service', image.version ?? tag);
    if (image.platforms !== undefined) {
      const { digest } = await pushIndex(registry, repository, tag, spec, { platforms: image.platforms });
      return digest;
    }
    const { digest } = await pushImage(registry, repository, tag, spec);
    const [layer] = buildImage(spec).layers.toReversed();
    if (image.broken)
      await httpRequest({ method: 'DELETE', url: `${registry.url}/v2/${repository}/blobs/${layer?.digest}` });
    return digest;
  }

  async function names(path: string, field: string): Promise<readonly string[]> {
    const { body } = await raw.call('GET', path);
    return ((body as Record<string, readonly { Name: string }[] | null>)[field] ?? []).map(({ Name }) => Name);
  }

  const volumes = () => names('/volumes', 'Volumes');

  return {
    engine,
    clock,
    image,
    publish: async (tag, published) => {
      const repository = published.broken ? 'contract/broken' : 'contract/app';
      const digest = await push(repository, tag, published);
      const known = `${registry.host}/${repository}`;
      return { repository: known, reference: `${known}:${tag}`, digest };
    },
    connect: async () => {
      const other = connect();
      await other.info();
      return other;
    },
    addNetwork: async (name, subnet) => {
      const ipam = subnet === undefined ? {} : { IPAM: { Config: [{ Subnet: subnet }] } };
      const { body } = await raw.call('POST', '/networks/create', { Name: name, ...ipam });
      return (body as { Id: string }).Id;
    },
    volumes,
    placeFile: async (id, path, { content, mode = 0o444 }) => {
      const mtime = Math.round(clock.nowMs() / 1000);
      const body = tar([{ path: path.slice(1), content, mode, mtime }]);
      const headers = { 'content-type': 'application/x-tar' };
      await httpRequest({
        method: 'PUT',
        url: `http://engine/containers/${id}/archive?path=/`,
        socketPath: raw.socket,
        body,
        headers,
      });
    },
    prune: async () => void (await raw.call('POST', '/containers/prune')),
    pruneNetworks: async () => void (await raw.call('POST', '/networks/prune')),
    reset: async () => {
      const removeAll = async () => {
        const { body } = await raw.call('GET', '/containers/json?all=1');
        for (const { Id } of body as readonly { Id: string }[])
          await raw.call('DELETE', `/containers/${Id}?force=1&v=1`);
        return (body as readonly unknown[]).length === 0;
      };
      await eventually({ clock }, removeAll, 60_000);
      for (const volume of await volumes()) await raw.call('DELETE', `/volumes/${volume}?force=1`);
      for (const { id, name } of await engine.listNetworks()) {
        if (!['bridge', 'host', 'none'].includes(name)) await raw.call('DELETE', `/networks/${id}`);
      }
      for (const id of await imageIds()) if (!programImages.has(id)) await raw.call('DELETE', `/images/${id}?force=1`);
    },
    close: async () => {
      await engine.close();
      await raw.clear();
    },
  };
}

function specOf(program: Program, version: string = program): ImageSpec {
  const command = commands[program];
  const { Env = ['PATH=/bin'], ...config } = programConfigs[program] as ImageSpec['config'] & object;
  return {
    config: { ...config, Env, ...(command !== undefined && { Cmd: command }) },
    files: { 'etc/version': `${program} ${version}\n` },
  };
}
