import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { startRig } from '../../../test/support/notify/notify-rig.ts';
import { notificationsPage } from './reference.ts';
import { services } from './services/table.ts';

const page = notificationsPage();

test('docs/notifications.md is what the code says; npm run docs writes it', () => {
  const committed = readFileSync(new URL('../../../docs/notifications.md', import.meta.url), 'utf8');
  expect(committed).toBe(page);
});

describe('notificationsPage()', () => {
  test('has each service, each key, and links that lead somewhere', () => {
    for (const { title, example, parameters } of services) {
      const [, section = ''] = page.split(`### ${title}\n`);
      const [text = ''] = section.split('\n### ');
      expect(text).toContain(`\n    ${example}\n`);
      for (const key of Object.keys(parameters)) expect(text).toMatch(new RegExp(`^- .*\`${key}\``, 'm'));
    }
    const anchors = [...page.matchAll(/^##+ (.*)$/gm)].map(([, title = '']) =>
      title
        .toLowerCase()
        .replaceAll(/[^\w -]/g, '')
        .replaceAll(' ', '-'),
    );
    for (const [, link] of page.matchAll(/\]\(#([^)]*)\)/g)) expect(anchors).toContain(link);
  });

  const spoken = services.filter(({ example }) => !/^(?:smtp|mqtts?|logger):/.test(example));
  test.each(spoken.map(({ example }) => example))('the example %s is sent', async (example) => {
    const bodies = ['ok', 'OK', { ok: true, code: 0, errcode: 0, status: 1, active: true, success: true }].map((body) =>
      typeof body === 'string' ? body : JSON.stringify({ ...body, room_id: '!r:h', access_token: 'tok-1' }),
    );
    const [slack, healthchecks, usual = ''] = bodies;
    const rig = await startRig(({ url }) => ({
      body:
        (url.includes('slack')
          ? slack
          : url.includes('hc-ping')
            ? healthchecks
            : usual.replace('"code":0', url.includes('bark') ? '"code":200' : '"code":0')) ?? '',
    }));
    expect(await rig.send(example)).toMatchObject({ kind: 'sent' });
    expect(rig.received.length).toBeGreaterThan(0);
  });

  test('the schema of the signed webhook is that of its body', async () => {
    const [, schema = ''] = /```json\n([^`]*)```/.exec(page) ?? [];
    const validate = new Ajv2020({ formats: { 'date-time': true } }).compile(JSON.parse(schema) as object);
    const rig = await startRig(() => ({ status: 200 }));
    await rig.send('webhook+https://hooks.example.com/?secret=0123456789abcdef', {
      event: { type: 'session.completed', data: { a: 1 } },
    });
    const body = JSON.parse(rig.received[0]?.body ?? '') as Record<string, unknown>;
    expect(validate(body)).toBe(true);
    const { id: _, ...without } = body;
    expect(validate(without)).toBe(false);
  });
});
