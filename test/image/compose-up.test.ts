import { expect, test } from 'vitest';
import { describeInLab } from '../lab/describe-in-lab.ts';
import { webServer } from '../lab/registry/catalogue.ts';
import { composeShop } from './rig/compose-shop.ts';

/**
 * The cases A to K of `up -d` after an update: it leaves the container, re-creates it once, or fails. I and J show why
 * a new container keeps both labels of compose, A3 why it renews that of the image.
 */
describeInLab('docker compose up -d after an update that may write the file', (lab) => {
  const { engine } = lab;
  const { push, shop, oneService, reference } = composeShop(lab);
  type Shop = Awaited<ReturnType<typeof shop>>;
  type Labels = Readonly<Record<string, string>>;
  const [hash, imageId] = ['com.docker.compose.config-hash', 'com.docker.compose.image'];

  const same = (tag = '1.28') => shop({ 'compose.yaml': oneService(`${reference()}:${tag}`) });
  /** The tag is no text of the file, so the file is refused and says 1.27. */
  const refused = () => shop({ 'compose.yaml': oneService(`${reference()}:\${MAJOR:-1}.27`) });
  const labels = async (): Promise<Labels> => (await engine.inspect('shop-web-1'))?.Config.Labels ?? {};
  const idOf = async (tag: string) =>
    ((await engine.call('GET', `/images/${reference()}:${tag}/json`)).body as { readonly Id: string }).Id;

  async function updated(one: Shop, state: string | undefined, ...options: readonly string[]): Promise<Shop> {
    const { containers } = await one.update(...options);
    expect(containers).toMatchObject([{ outcome: 'updated' }]);
    expect(containers[0]?.compose?.state).toBe(state);
    return one;
  }

  /** As another program would have made the container: with other labels. */
  async function relabel(change: (old: Labels) => Labels): Promise<void> {
    const { Config, HostConfig } = (await engine.inspect('shop-web-1')) ?? expect.unreachable();
    expect((await engine.call('DELETE', '/containers/shop-web-1?force=true')).status).toBe(204);
    await engine.run('shop-web-1', Config.Image, { ...Config, HostConfig, Labels: change(Config.Labels) });
  }

  const without = (name: string) => (old: Labels) =>
    Object.fromEntries(Object.entries(old).filter(([each]) => each !== name));

  type Case = {
    readonly prepare: () => Promise<Shop>;
    readonly up?: readonly string[];
    readonly does: 'leaves' | 're-creates' | 'fails';
    readonly tag: string;
  };

  const cases: Readonly<Record<string, Case>> = {
    'A: a tag that moves, for which nothing is written': {
      does: 'leaves',
      tag: '1.28',
      async prepare() {
        const one = await same();
        await push('1.28', webServer('1.28 again'));
        await updated(one, undefined);
        expect((await labels())[imageId]).toBe(await idOf('1.28'));
        return one;
      },
    },
    'A after compose pull': {
      does: 'leaves',
      tag: '1.28',
      async prepare() {
        const one = await same();
        await push('1.28', webServer('1.28 again'));
        await updated(one, undefined);
        await one.compose('pull', '--quiet');
        return one;
      },
    },
    'A3: the same with the image of before in its label, as other updaters leave it': {
      does: 're-creates',
      tag: '1.28',
      async prepare() {
        const one = await same();
        const before = await labels();
        await push('1.28', webServer('1.28 again'));
        await updated(one, undefined);
        await relabel((old) => ({ ...old, [imageId]: before[imageId] ?? '' }));
        return one;
      },
    },
    'B: another tag, with its own image in the label and a file of before': {
      does: 're-creates',
      tag: '1.27',
      async prepare() {
        const one = await updated(await refused(), 'refused');
        const id = await idOf('1.28');
        await relabel((old) => ({ ...old, [imageId]: id }));
        return one;
      },
    },
    'C and D: a file that was written, because config-hash is that of the text before': {
      does: 're-creates',
      tag: '1.28',
      async prepare() {
        const one = await same('1.27');
        const before = await labels();
        await updated(one, 'written');
        expect(await one.read()).toContain(':1.28 #');
        expect((await labels())[hash]).toBe(before[hash]);
        return one;
      },
    },
    'E: a file that was refused': {
      does: 'leaves',
      tag: '1.28',
      async prepare() {
        const one = await updated(await refused(), 'refused');
        expect((await labels())[imageId]).toBe(await idOf('1.27'));
        return one;
      },
    },
    'F: E after compose pull': {
      does: 'leaves',
      tag: '1.28',
      async prepare() {
        const one = await updated(await refused(), 'refused');
        await one.compose('pull', '--quiet');
        return one;
      },
    },
    'G: E without the old image': {
      does: 'leaves',
      tag: '1.28',
      async prepare() {
        const one = await updated(await refused(), 'refused', '--cleanup');
        expect((await engine.call('GET', `/images/${reference()}:1.27/json`)).status).toBe(404);
        return one;
      },
    },
    'H: E after a pull of a newer image of the old tag': {
      does: 're-creates',
      tag: '1.27',
      async prepare() {
        const one = await updated(await refused(), 'refused');
        await push('1.27', webServer('1.27 again'));
        await one.compose('pull', '--quiet');
        return one;
      },
    },
    'I: a container without config-hash': {
      does: 'fails',
      tag: '1.28',
      async prepare() {
        const one = await updated(await same('1.27'), 'written');
        await relabel(without(hash));
        return one;
      },
    },
    'J: a container without the label of its image': {
      does: 're-creates',
      tag: '1.28',
      async prepare() {
        const one = await same();
        await push('1.28', webServer('1.28 again'));
        await updated(one, undefined);
        await relabel(without(imageId));
        return one;
      },
    },
    'K: a file that was written, with --no-recreate': {
      does: 'leaves',
      tag: '1.28',
      up: ['--no-recreate'],
      prepare: async () => updated(await same('1.27'), 'written'),
    },
    'K of B': {
      does: 'leaves',
      tag: '1.28',
      up: ['--no-recreate'],
      async prepare() {
        const one = await updated(await refused(), 'refused');
        const id = await idOf('1.28');
        await relabel((old) => ({ ...old, [imageId]: id }));
        return one;
      },
    },
    'a file that was written, without the old image': {
      does: 're-creates',
      tag: '1.28',
      async prepare() {
        const one = await updated(await same('1.27'), 'written', '--cleanup');
        await one.compose('pull', '--quiet');
        return one;
      },
    },
    'a file that a rollback has put back': {
      does: 'leaves',
      tag: '1.27',
      async prepare() {
        const one = await updated(await same('1.27'), 'written');
        expect((await one.upkeep(['rollback', 'shop-web-1'])).containers).toMatchObject([
          { outcome: 'went_back', compose: { state: 'put-back' } },
        ]);
        return one;
      },
    },
  };

  test.each(Object.entries(cases))('%s', async (_, { prepare, up = [], does, tag }) => {
    const { compose } = await prepare();
    const before = await engine.inspect('shop-web-1');
    const isDone = await compose('up', '-d', '--quiet-pull', ...up).then(
      () => true,
      (error: unknown) => {
        expect(String(error)).toContain('already in use');
        return false;
      },
    );
    const after = await engine.inspect('shop-web-1');
    expect([isDone ? (after?.Id === before?.Id ? 'leaves' : 're-creates') : 'fails', after?.Config.Image]).toEqual([
      does,
      `${reference()}:${tag}`,
    ]);
    if (!isDone) return;
    await compose('up', '-d', '--quiet-pull', ...up);
    expect((await engine.inspect('shop-web-1'))?.Id, 'the next one leaves it').toBe(after?.Id);
  });
});
