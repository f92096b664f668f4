import { expect, test } from 'vitest';
import { startHttp } from '../../../../test/support/http/http-scene.ts';
import { createScriptedService } from '../../../../test/support/http/scripted-service.ts';

test('a connection that cannot be accepted is logged, and the server goes on', async () => {
  const { http, lines, stop } = await startHttp(createScriptedService());
  http.server.emit('error', new Error('accept ENFILE'));
  expect(lines).toContainEqual(expect.objectContaining({ message: 'A connection could not be accepted' }));
  expect(http.server.listening).toBe(true);
  await stop();
});
