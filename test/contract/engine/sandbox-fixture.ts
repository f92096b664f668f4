import type { Behaviour, CommandBehaviour } from '../../../sandbox/base/behaviour.ts';
import { createSandboxEngine, type SandboxEngineOptions } from '../../../sandbox/engine/engine.ts';
import { createSandboxRegistry } from '../../../sandbox/registry/registry.ts';
import { createFakeClock } from '../../support/clock/fake-clock.ts';
import type { BootFixture } from '../boot.ts';
import { programConfigs, type Program } from './fixture.ts';

const fiftyCharacters = 'a line of fifty characters, and that is not a few\n';

/** Results of the rows' command lines in a shell. */
const shellLines: Readonly<Record<string, CommandBehaviour>> = {
  'echo one; sleep 0.1; echo two >&2': { output: 'one\ntwo\n', tookMs: 100 },
  'exit 75': { exitCode: 75 },
  'echo "$GREETING$EMPTY $PATH"': { output: 'hello "you" /bin\n' },
  'id -un # undefined': { output: 'app\n' },
  'id -un # 0': { output: 'root\n' },
  'echo $(id -un) $(id -gn)': { output: 'app root\n' },
  'i=0; while [ $i -lt 3000 ]; do echo a line of fifty characters, and that is not a few; i=$((i+1)); done; echo end': {
    output: `${fiftyCharacters.repeat(3000)}end\n`,
  },
  'echo first; sleep 1000': { output: 'first\n', hangs: true },
  'echo first; echo >/tmp/begun; sleep 1000': { output: 'first\n', hangs: true },
  'until [ -e /tmp/begun ]; do sleep 0.1; done': {},
  'sleep 1000 & echo started; exit 3': { exitCode: 3, output: 'started\n' },
  'exec >&- 2>&-; sleep 0.5; exit 4': { exitCode: 4, tookMs: 500 },
};

const behaviours: Readonly<Record<Program, Behaviour>> = {
  service: { commands: shellLines },
  deaf: { ignoresTerm: true },
  lingering: { stopMs: 1000, logLines: ['listening'] },
  crash: { exitsAfterMs: 1, exitCode: 3 },
  short: { exitsAfterMs: 300 },
  talkative: {
    exitsAfterMs: 100,
    logLines: ['one', 'two', 'three'],
  },
  missing: {
    startError:
      'failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: exec: "/nothing-here": stat /nothing-here: no such file or directory: unknown',
  },
  healthy: {},
  sick: { health: { kind: 'unhealthy', output: 'sick\n' } },
  defaults: {},
  storing: {},
  silent: {},
  writing: { writes: { '/tmp/log': 'one\n' } },
};

/** A sandbox on a clock that never waits. */
export function sandboxFixture(options: Partial<SandboxEngineOptions> = {}): BootFixture {
  const clock = createFakeClock({ auto: true });
  const { store } = createSandboxRegistry({ clock });
  const { engine, connect, control } = createSandboxEngine({ clock, registries: store, ...options });
  const programs = Object.keys(behaviours) as Program[];
  const image = (program: Program) => `contract.test/${program}:latest`;
  const configOf = (program: Program, version = '') => ({
    ...programConfigs[program],
    Cmd: program === 'silent' ? null : [program, version],
  });
  for (const program of programs) {
    control.addImage(image(program), { behaviour: behaviours[program], config: configOf(program) });
  }
  const programImages = new Set(control.snapshot().imageIds);
  const repository = 'registry.test/contract/app';
  store.misbehave('127.0.0.1:9', { kind: 'unreachable' });

  return {
    engine,
    clock,
    image,
    publish: (tag, { program = 'service', version = tag, platforms, broken = false }) => {
      const reference = `${repository}${broken ? '-broken' : ''}:${tag}`;
      if (broken) store.misbehave('registry.test/contract/app-broken', { kind: 'breaks-pulls' });
      const { digest } = store.publish(reference, {
        behaviour: behaviours[program],
        config: configOf(program, version),
        ...(platforms !== undefined && { platforms }),
      });
      return Promise.resolve({ repository: reference.replace(/:[^/:]*$/, ''), reference, digest });
    },
    connect: () => Promise.resolve(connect().engine),
    addNetwork: (name, subnet) => Promise.resolve(control.addNetwork(name, subnet === undefined ? {} : { subnet })),
    restart: (kind) => control.restartEngine(kind, 100),
    volumes: () => Promise.resolve(Object.keys(control.snapshot().volumes)),
    placeFile: (id, path, file) => Promise.resolve(control.placeFile(id, path, file)),
    prune: () => Promise.resolve(control.pruneContainers()),
    pruneNetworks: () => Promise.resolve(control.pruneNetworks()),
    reset: () => {
      control.reset();
      for (const id of control.snapshot().imageIds) if (!programImages.has(id)) control.removeImageByForce(id);
      return Promise.resolve();
    },
    close: () => {
      control.close();
      return Promise.resolve();
    },
  };
}
