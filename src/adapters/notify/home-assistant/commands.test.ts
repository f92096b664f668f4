import { expect, test } from 'vitest';
import { createCommands } from './home-assistant.ts';
import { topicsOf } from './payloads.ts';

const topics = topicsOf('homeassistant', 'upkeep', 'h1');

test('createCommands() hears presses of now, of buttons that there are, and each at most once in 30 s', () => {
  let nowMs = 0;
  const heard: string[] = [];
  const hear = createCommands({
    topics,
    containerOf: (slugged) => (slugged === 'web' ? 'Web' : undefined),
    nowMs: () => nowMs,
    onInstall: (container) => void heard.push(container),
    onCheck: () => void heard.push('(check)'),
  });
  const press = (topic: string, payload = 'install', isRetained = false): void => hear({ topic, payload, isRetained });
  press(topics.install('web'), 'install', true);
  press(topics.check, 'check', true);
  press(topics.install('web'), 'INSTALL');
  press(topics.install('other'));
  press('upkeep/h1/web/more/install');
  press('upkeep/h2/web/install');
  press(topics.check, 'install');
  expect(heard).toEqual([]);
  press(topics.install('web'));
  press(topics.install('web'));
  press(topics.check, 'check');
  nowMs = 29_999;
  press(topics.install('web'));
  nowMs = 30_000;
  press(topics.install('web'));
  expect(heard).toEqual(['Web', '(check)', 'Web']);
});

test.each([
  ['one button', () => 'web'],
  ['buttons that there are not', (index: number) => `other-${index}`],
])('a flood of presses of %s looks for a hundred containers in a second', (_, slug) => {
  let looks = 0;
  let nowMs = 1000;
  const heard: string[] = [];
  const hear = createCommands({
    topics,
    containerOf: (slugged) => ((looks += 1), slugged === 'web' ? 'Web' : undefined),
    nowMs: () => nowMs,
    onInstall: (container) => void heard.push(container),
    onCheck: () => {},
  });
  const flood = () => {
    for (let index = 0; index < 10_000; index += 1)
      hear({ topic: topics.install(slug(index)), payload: 'install', isRetained: false });
  };
  flood();
  expect(looks).toBe(100);
  nowMs = 2000;
  flood();
  expect(looks).toBe(200);
  nowMs = 60_000;
  hear({ topic: topics.install('web'), payload: 'install', isRetained: false });
  expect(heard.at(-1)).toBe('Web');
});
