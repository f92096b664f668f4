import { expect, test } from 'vitest';
import { approval, approvalOfLabel, window, windowOfLabel } from './holding-back.ts';

test.each([
  ['true', 'digest', 'true'],
  ['TRUE', 'digest', 'true'],
  ['false', 'never', 'false'],
  ['patch', 'patch', 'patch'],
  ['minor', 'minor', 'minor'],
  ['major', 'major', 'major'],
])('approval %j asks from %s on, and is printed as %s', (text, from, printed) => {
  expect(approval.parse(text)).toBe(from);
  expect(approvalOfLabel.parse(text)).toBe(from);
  const read = approval.parse(text);
  expect(read && approval.print?.(read)).toBe(printed);
});

test('an approval that cannot be read is refused as an option; as a label it asks a person for everything', () => {
  for (const text of ['yess', 'minor,major', '1.2']) {
    expect(approval.parse(text)).toBeUndefined();
    expect(approvalOfLabel.parse(text)).toBe('digest');
  }
  expect(approvalOfLabel.parse('')).toBe('never');
});

test('windows are read and printed as they were written; none, or always, never holds back', () => {
  for (const kind of [window, windowOfLabel]) {
    const read = kind.parse('Sat,Sun 01:00-06:00; Wed 23:00-02:00');
    expect(read).toMatchObject({ kind: 'windows', windows: [{}, {}] });
    expect(read && kind.print?.(read)).toBe('Sat,Sun 01:00-06:00; Wed 23:00-02:00');
    expect(kind.parse('')).toEqual({ kind: 'always' });
    expect(kind.parse('Always')).toEqual({ kind: 'always' });
    expect(kind.print?.({ kind: 'always' })).toBe('always');
  }
});

test('windows that cannot be read are refused as an option; as a label they keep updates back and say why', () => {
  for (const text of ['25:00-26:00', 'Someday', '02:00']) {
    expect(window.parse(text)).toBeUndefined();
    expect(windowOfLabel.parse(text)).toEqual({ kind: 'unreadable', text, fault: expect.stringMatching(/\S/) });
  }
});
