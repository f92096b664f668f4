import { afterEach, expect, onTestFinished, test } from 'vitest';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { apiToken, ask } from '../../support/http/http-scene.ts';
import { startUpkeep } from '../../support/scene/run-upkeep.ts';
import { effectsScene, idsOf } from './scene.ts';

describeInLab('updates that are asked for over HTTP', (lab) => {
  const { engine } = lab;
  const { stale, inspect } = effectsScene(lab, 'http');
  afterEach(() => engine.clear());

  /** The service with the endpoints for updates, and its address. */
  async function serve(...args: string[]): Promise<string> {
    const api = ['--http-api-update', '--http-api-port', '0', '--http-api-token', apiToken];
    const service = startUpkeep(['run', '--health-window', '200ms', ...api, ...args], { socket: engine.socket });
    onTestFinished(async () => {
      service.child.kill('SIGTERM');
      expect((await service.ended).code).toBe(0);
    });
    await service.seen('No periodic updates');
    return /"address":"([^"]+)"/.exec(service.output())?.[1] ?? '';
  }

  test('begin with the token only, and by GET with --http-api-watchtower-compat only', async () => {
    const { Id, next } = await stale('web');
    const strict = await serve();
    expect((await ask(strict, '/v1/update', { method: 'POST', token: 'wrong' })).status).toBe(401);
    expect((await ask(strict, '/v1/update')).status).toBe(405);
    const compatible = await serve('--http-api-watchtower-compat');
    expect((await ask(compatible, '/v1/update', { token: null })).status).toBe(401);
    expect((await inspect('web')).Id).toBe(Id);
    const { status, text } = await ask(compatible, '/v1/update');
    expect(status, text).toBe(200);
    expect(idsOf(next)).toContain((await inspect('web')).Image);
  });

  test('begin nothing more when --http-api-update-timeout is over', async () => {
    const { Id, State } = await stale('web');
    const url = await serve('--http-api-update-timeout', '1ms');
    expect((await ask(url, '/v1/update', { method: 'POST' })).status).toBe(408);
    expect(await inspect('web')).toMatchObject({ Id, State: { StartedAt: State.StartedAt } });
  });
});
