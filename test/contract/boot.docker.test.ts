import { describeInLab } from '../lab/describe-in-lab.ts';
import type { LabEngine } from '../lab/engine/engine.ts';
import { bootContract, type RestartKind } from './boot.ts';
import { dockerFixture } from './engine/docker-fixture.ts';

describeInLab('Docker', (lab) => {
  bootContract('Docker', async ({ liveRestore }) => {
    const name = liveRestore ? 'contract-live' : 'contract';
    const engine = await lab.startEngine({ name, args: liveRestore ? ['--live-restore'] : [] });
    const fixture = await dockerFixture(lab, engine);
    return {
      ...fixture,
      restart: (kind) => restart(engine, kind),
      close: async () => {
        await fixture.close();
        await engine.remove();
      },
    };
  });
});

async function restart(engine: LabEngine, kind: RestartKind): Promise<void> {
  if (kind === 'graceful') await engine.stop();
  if (kind === 'crash') await engine.kill();
  if (kind === 'power-cut') await engine.powerCut();
  await engine.start();
}
