import { expect, onTestFinished, test } from 'vitest';
import { catalogue } from '../../lab/registry/catalogue.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { startReceiver } from '../../support/notify/receiver.ts';
import { runUpkeep } from '../../support/scene/run-upkeep.ts';
import { effectsScene } from '../effects/scene.ts';

describeInLab('notifications of two hundred containers at once', (lab) => {
  const { engine } = lab;
  const { push, image } = effectsScene(lab, 'notified-of');

  test('are one message that names all, and where that is too long one that counts the rest', async () => {
    const [ops, phone] = [await startReceiver(), await startReceiver()];
    onTestFinished(async () => {
      await Promise.all([ops.close(), phone.close(), engine.clear()]);
    });
    await push('many', catalogue['plain-v1']);
    await engine.pull(image('many'));
    const names = Array.from({ length: 200 }, (_, index) => `many-${index}`);
    for (const name of names) await engine.create(name, image('many'));
    await push('many', catalogue['plain-v2']);
    const signal = `signal://127.0.0.1:${phone.port}/+4915112345678/+4915187654321?disabletls=yes`;
    const { code, stderr } = await runUpkeep(
      [
        ...['run', '--run-once', '--include-stopped', '--health-window', '0s', '--no-startup-message'],
        ...['--notification-url', `ops=${ops.url} phone=${signal}`],
      ],
      { socket: engine.socket },
    );
    expect(code, stderr.slice(-2000)).toBe(0);
    expect(ops.taken()).toHaveLength(1);
    const [whole = ''] = ops.taken().map(({ text }) => text);
    expect(whole).toMatch(/^200 updated of 200 containers/);
    for (const name of names) expect(whole).toContain(`- ${name} `);
    const pieces = phone.taken().map(({ text }) => text);
    expect(pieces.length).toBeLessThanOrEqual(10);
    const told = pieces.join('\n').split('\n');
    const missing = Number(/^… (\d+) more lines$/.exec(told.at(-1) ?? '')?.[1] ?? 0);
    const isSaid = (line: string) => line.trim() !== '';
    const heading = 1;
    expect(told.slice(heading, -1).filter(isSaid).length + missing).toBe(whole.split('\n').filter(isSaid).length);
  });
});
