import type { ContainerCommand } from '../../../src/domain/outside/engine.ts';
import { describe, expect, test } from 'vitest';
import { create, inspect, run, statusOf, type GetFixture } from './fixture.ts';

const shell = (line: string, more: Partial<ContainerCommand> = {}): ContainerCommand => ({
  command: ['sh', '-c', line],
  environment: [],
  user: undefined,
  timeoutMs: 20_000,
  ...more,
});

export function commandRows(fixture: GetFixture): void {
  describe('runCommand()', () => {
    test('tells the exit code and the output, errors too', async () => {
      const id = await run(fixture(), 'one', 'service');
      const { engine } = fixture();
      expect(await engine.runCommand(id, shell('echo one; sleep 0.1; echo two >&2'))).toEqual({
        kind: 'ended',
        exitCode: 0,
        output: 'one\ntwo\n',
      });
      expect(await engine.runCommand(id, shell('exit 75'))).toEqual({ kind: 'ended', exitCode: 75, output: '' });
    });

    test('hands over an environment, beside that of the container', async () => {
      const id = await run(fixture(), 'one', 'service');
      const environment = ['GREETING=hello "you"', 'EMPTY='];
      expect(await fixture().engine.runCommand(id, shell('echo "$GREETING$EMPTY $PATH"', { environment }))).toEqual({
        kind: 'ended',
        exitCode: 0,
        output: 'hello "you" /bin\n',
      });
    });

    test.each([
      [undefined, 'app\n'],
      ['0', 'root\n'],
      ['app:0', 'app root\n'],
    ])('runs as the user %j', async (user, output) => {
      const id = await run(fixture(), 'one', 'service', { User: '1000' });
      const line = user?.includes(':') ? 'echo $(id -un) $(id -gn)' : `id -un # ${user}`;
      expect(await fixture().engine.runCommand(id, shell(line, { user }))).toEqual({
        kind: 'ended',
        exitCode: 0,
        output,
      });
    });

    test('keeps the last 64 kB of the output', async () => {
      const id = await run(fixture(), 'one', 'service');
      const line =
        'i=0; while [ $i -lt 3000 ]; do echo a line of fifty characters, and that is not a few; i=$((i+1)); done; echo end';
      const outcome = await fixture().engine.runCommand(id, shell(line));
      expect(outcome).toMatchObject({ kind: 'ended', output: expect.stringMatching(/few\nend\n$/) });
      expect(outcome.kind === 'ended' && outcome.output.length).toBe(65_536);
    });

    test('ends with 126 or 127 where the program is not there, and says so in the output', async () => {
      const id = await run(fixture(), 'one', 'service');
      const { engine } = fixture();
      const outcome = await engine.runCommand(id, { ...shell(''), command: ['/nothing-here'] });
      expect(outcome).toEqual({
        kind: 'ended',
        exitCode: expect.toSatisfy((code) => code === 126 || code === 127),
        output: expect.stringMatching(/\/nothing-here.*(no such file|not found)/),
      });
      expect(await engine.runCommand(id, shell('nothing-here'))).toEqual({
        kind: 'ended',
        exitCode: 127,
        output: expect.stringContaining('not found'),
      });
    });

    test('is refused where nothing runs, and with 404 where there is nothing', async () => {
      const id = await create(fixture(), 'one', 'service');
      const { engine } = fixture();
      // Docker says 409, Podman 500.
      expect(await engine.runCommand(id, shell('exit 75'))).toMatchObject({ kind: 'refused' });
      expect(statusOf(await engine.runCommand('nobody', shell('exit 75')))).toBe('refused 404');
    });

    test('gives up waiting when its time has passed; the container goes on', async () => {
      const id = await run(fixture(), 'one', 'service');
      const startMs = fixture().clock.monotonicMs();
      const outcome = await fixture().engine.runCommand(id, shell('echo first; sleep 1000', { timeoutMs: 3000 }));
      expect(outcome).toEqual({ kind: 'timed-out', output: 'first\n' });
      expect(fixture().clock.monotonicMs() - startMs).toBeLessThan(7300);
      expect((await inspect(fixture(), id)).state.status).toBe('running');
    });

    test('throws the reason of an abort', async () => {
      const id = await run(fixture(), 'one', 'service');
      const abort = new AbortController();
      const running = fixture().engine.runCommand(id, shell('echo first; sleep 1000'), abort.signal);
      const watched = expect(running).rejects.toThrow('enough');
      abort.abort(new Error('enough'));
      await watched;
      await expect(fixture().engine.runCommand(id, shell('exit 75'), abort.signal)).rejects.toThrow('enough');
    });

    test('ends with the container', async () => {
      const id = await run(fixture(), 'one', 'service');
      const { engine } = fixture();
      const running = engine.runCommand(id, shell('echo first; echo >/tmp/begun; sleep 1000'));
      const begun = await engine.runCommand(id, shell('until [ -e /tmp/begun ]; do sleep 0.1; done'));
      expect(begun).toMatchObject({ exitCode: 0 });
      await engine.stopContainer(id, { timeoutSeconds: 1 });
      expect(await running).toEqual({ kind: 'ended', exitCode: 137, output: 'first\n' });
    });

    test('does not wait for children that are left behind', async () => {
      const id = await run(fixture(), 'one', 'service');
      const startMs = fixture().clock.monotonicMs();
      const outcome = await fixture().engine.runCommand(id, shell('sleep 1000 & echo started; exit 3'));
      expect(outcome).toEqual({ kind: 'ended', exitCode: 3, output: 'started\n' });
      expect(fixture().clock.monotonicMs() - startMs).toBeLessThan(10_000);
    });

    test('waits for a command that has closed its output', async () => {
      const id = await run(fixture(), 'one', 'service');
      const outcome = await fixture().engine.runCommand(id, shell('exec >&- 2>&-; sleep 0.5; exit 4'));
      expect(outcome).toEqual({ kind: 'ended', exitCode: 4, output: '' });
    });
  });
}
