import { expect, test } from 'vitest';
import { type Day, harmOf, lossOf } from '../memory/forged-day.ts';
import { shapes } from '../memory/stage.ts';
import { endings } from '../rig/forgery/any-forgery.ts';
import { bystanders, type ForgedName, type Forgery, type Thing } from '../rig/forgery/forgery.ts';

/** All simple forgeries: one forged container beside an undisturbed update. */

const [shape] = shapes;
const quiet: Omit<Day, 'forgeries'> = {
  shape: shape!,
  killedAt: 99,
  when: 'after',
  pausesMs: [2000, 9_000_000],
  labelSettings: {},
};

async function harmOfEach(forgeries: readonly Forgery[]): Promise<string[]> {
  const found: string[] = [];
  for (const forgery of forgeries) {
    const harm = await harmOf({ ...quiet, forgeries: [forgery] });
    if (harm.length > 0) found.push(`${JSON.stringify(forgery)}: ${harm.join('; ')}`);
  }
  return found;
}

function lieAbout(target: Forgery['target'], createdAs: ForgedName, changes: Forgery['changes']): Forgery {
  const made = { renamedTo: undefined, policy: 'no', state: 'created', comes: 'last', copiedFrom: undefined } as const;
  return { ...made, target, createdAs, image: target, changes };
}

test.each(bystanders)(
  'whatever a forged container is called, and whether it says that "%s" ran: that stays as it is',
  async (target) => {
    const names = endings.flatMap((ending): ForgedName[] => [
      { of: target, ending },
      { of: 'stray', ending },
    ]);
    const forgeries = [...names, { of: 'stray', ending: '' } as const].flatMap((name) =>
      [true, false].map((wasRunning) => lieAbout(target, name, { wasRunning, hasNoMark: wasRunning })),
    );
    expect(await harmOfEach(forgeries)).toEqual([]);
  },
);

test('no tag moves for what a journal says of it', async () => {
  const things: readonly Thing[] = ['job', 'private', 'spare', 'own'];
  const places = ['.upkeep-new', '.upkeep-bad'].flatMap((ending): ForgedName[] => [
    { of: 'job', ending },
    { of: 'private', ending },
    { of: 'stray', ending },
  ]);
  const forgeries = things.flatMap((reference) =>
    things.flatMap((newImage) =>
      places.flatMap((name) =>
        (['job', 'private'] as const).map((target) => ({
          ...lieAbout(target, name, { reference, newImage, taggedBefore: 'own', autoRemoves: true }),
          image: newImage === 'spare' ? ('own' as const) : newImage,
        })),
      ),
    ),
  );
  expect(await harmOfEach(forgeries)).toEqual([]);
});

function forgeWeb(ending: ForgedName['ending'], more: Partial<Forgery>): Forgery {
  return { ...lieAbout('web', { of: 'web', ending }, {}), ...more };
}

function dayOf(shape: string, killedAt: number, forgery: Forgery): Day {
  const found = shapes.find(({ name }) => name === shape);
  if (found === undefined) throw new Error(`there is no shape "${shape}"`);
  return { shape: found, killedAt, when: 'during', forgeries: [forgery], pausesMs: [300, 0], labelSettings: {} };
}

test.each(['stopped', 'unless-stopped with a port', 'the new version ends later'])(
  'a copy of the successor takes the free name of "web" (%s): the old container is kept for its return',
  async (shape) => {
    for (let killedAt = 4; killedAt < 14; killedAt += 1)
      expect(await lossOf(dayOf(shape, killedAt, forgeWeb('', { copiedFrom: 'open', image: 'web' })))).toEqual([]);
  },
);

test('a forged stand-in of a kept container does not remove it', async () => {
  const autoRemoveReplica = forgeWeb('.upkeep-drop-a', { changes: { role: 'replica' }, image: 'own' });
  for (const killedAt of [13, 14, 15])
    expect(await harmOf(dayOf('kept after its update, with volumes', killedAt, autoRemoveReplica))).toEqual([]);
});

test('whoever holds the name that a commit needs: the interrupted update is rolled back, and ends', async () => {
  const squatter = forgeWeb('.upkeep-drop-a', { image: 'own' });
  for (const killedAt of [7, 8, 9]) expect(await lossOf(dayOf('always with volumes', killedAt, squatter))).toEqual([]);
});
