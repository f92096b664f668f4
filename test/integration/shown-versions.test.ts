import { afterEach, expect, test } from 'vitest';
import { describeInLab } from '../lab/describe-in-lab.ts';
import { hasContainerdStore } from '../lab/engine/image-id.ts';
import { isPodman } from '../lab/engine/podman.ts';
import { webServer } from '../lab/registry/catalogue.ts';
import { pushImage } from '../lab/registry/push.ts';
import { runUpkeep } from '../support/scene/run-upkeep.ts';

const label = (name: string) => `org.opencontainers.image.${name}`;
const ofUbuntu = { [label('ref.name')]: 'ubuntu', [label('version')]: '22.04' };
const ofDebian = { [label('ref.name')]: 'docker.io/library/debian', [label('version')]: '12.5' };
const ofRedis = { [label('version')]: '7.4.0', [label('source')]: 'https://github.com/redis/redis' };

/** Fields about versions, wherever a document has them. */
type Shown = {
  readonly name: string;
  readonly version?: string;
  readonly latest_version?: string;
  readonly change?: string;
  readonly source_url?: string;
  readonly from?: string;
  readonly to?: string;
};

describeInLab('the version of a program', (lab) => {
  const { engine, registry } = lab;
  const at = (tag: string) => `${registry.host}/versions/${tag}`;
  afterEach(() => engine.clear());

  async function push(image: string, program: string, Labels: Readonly<Record<string, string>>): Promise<void> {
    const [repository = '', tag = ''] = image.split(':');
    await pushImage(registry, `versions/${repository}`, tag, webServer(program, { Labels }));
  }

  async function run(image: string, labels: Readonly<Record<string, string>>, Labels = {}): Promise<void> {
    await push(image, 'old', labels);
    await engine.pull(at(image));
    await engine.run('web', at(image), { StopTimeout: 1, Labels });
  }

  async function shown(...args: string[]): Promise<Shown | undefined> {
    const { stdout } = await runUpkeep([...args, '--json'], { socket: engine.socket });
    const { containers } = JSON.parse(stdout) as { readonly containers: readonly Shown[] };
    return containers.find(({ name }) => name === 'web');
  }

  test.each([
    ['mongo:7.0.5', 'mongo:7.0.9', 'patch', ofUbuntu],
    ['broker:3.12-slim', 'broker:3.13-slim', 'minor', ofDebian],
    ['cache:2.3.0', 'cache:2.3.1', 'patch', ofRedis],
  ])(
    'set-up version of the base image: the version shown is the program’s, %s to %s',
    async (old, next, change, labels) => {
      await run(old, labels, { 'upkeep.policy': 'minor' });
      await push(next, 'next', labels);
      const [from, to] = [old, next].map((image) => image.replace(/.*:/, ''));
      expect(await shown('containers')).toMatchObject({ version: from });
      const checked = await shown('check');
      expect(checked).toMatchObject({ version: from, latest_version: to, change });
      expect(checked).not.toHaveProperty('source_url');
      expect(await shown('update', '--health-window', '1s')).toMatchObject({ outcome: 'updated', from, to });
      expect(await shown('containers')).toMatchObject({ version: to });
    },
  );

  test('is that of its label where the tag moves, and the label is its own', async () => {
    const labelled = (version: string) => ({ [label('ref.name')]: '0f1e2d3c4b5a', [label('version')]: version });
    await run('sonarr:latest', labelled('4.0.16-ls1'));
    await push('sonarr:latest', 'next', labelled('4.0.17-ls2'));
    expect(await shown('check')).toMatchObject({
      version: '4.0.16-ls1',
      latest_version: '4.0.17-ls2',
      change: 'patch',
    });
  });

  test('is not that of its base image where the tag moves', async () => {
    await run('solr:stable', ofUbuntu);
    await push('solr:stable', 'next', ofUbuntu);
    const { version = '', latest_version: latest = '' } = (await shown('check')) ?? {};
    expect(version).toMatch(/^[0-9a-f]{12}$/);
    expect(latest).toMatch(/^[0-9a-f]{12}$/);
    expect(latest).not.toBe(version);
  });

  test.each(['2.1', ...(hasContainerdStore || isPodman ? [] : ['dev', 'latest'])])(
    'of an image that was built here is its tag, as %s',
    async (tag) => {
      await run('redis:7.4', ofRedis);
      await engine.call('POST', `/commit?container=web&repo=shop&tag=${tag}`, {});
      await engine.call('DELETE', '/containers/web?force=true');
      await engine.run('web', `shop:${tag}`, { StopTimeout: 1 });
      expect(await shown('containers')).toMatchObject({ version: tag });
    },
  );
});
