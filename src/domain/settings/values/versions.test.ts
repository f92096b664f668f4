import { expect, test } from 'vitest';
import { versionKinds } from './versions.ts';

test.each(['digest', 'patch', 'minor', 'major', 'regex:^(\\d+)-apache$'])(
  'the policy %s is printed as it is read',
  (text) => {
    const policy = versionKinds.tagPolicy.parse(text);
    expect(policy && versionKinds.tagPolicy.print?.(policy)).toBe(text);
    expect(versionKinds.tagPolicyOfLabel.parse(text)).toMatchObject({ kind: policy?.kind });
  },
);

test.each(['ptach', '', 'regex:', 'regex:\\d+', 'regex:(?!a)(b)'])(
  'the policy %j is refused, and of a label unreadable',
  (text) => {
    expect(versionKinds.tagPolicy.parse(text)).toBeUndefined();
    expect(versionKinds.tagPolicyOfLabel.parse(text)).toMatchObject({ kind: 'unreadable', text });
  },
);

test.each(['(', '(?!rc)', '(a{1000}){1000}'])('the pattern %j is refused, and of a label unreadable', (text) => {
  expect(versionKinds.tagPattern.parse(text)).toBeUndefined();
  expect(versionKinds.tagPatternOfLabel.parse(text)).toMatchObject({ kind: 'unreadable', text });
});

test('an empty pattern of a label takes the pattern of the option away', () => {
  expect(versionKinds.tagPatternOfLabel.parse('')).toEqual({ kind: 'none' });
});

test.each([
  ['true', 'digest', 'true'],
  ['TRUE', 'digest', 'true'],
  ['false', 'never', 'false'],
  ['patch', 'patch', 'patch'],
  ['minor', 'minor', 'minor'],
  ['major', 'major', 'major'],
])('approval %j asks from %s on, and is printed as %s', (text, from, printed) => {
  expect(versionKinds.approval.parse(text)?.from).toBe(from);
  expect(versionKinds.approvalOfLabel.parse(text)?.from).toBe(from);
  const read = versionKinds.approval.parse(text);
  expect(read && versionKinds.approval.print?.(read)).toBe(printed);
});

test('an approval that cannot be read is refused as an option; as a label it asks a person for everything', () => {
  for (const text of ['yess', 'minor,major', '1.2']) {
    expect(versionKinds.approval.parse(text)).toBeUndefined();
    expect(versionKinds.approvalOfLabel.parse(text)?.from).toBe('digest');
  }
});

test('an empty approval or window of a label does not count, so that the option applies', () => {
  expect(versionKinds.approvalOfLabel.parse('')).toBeUndefined();
  expect(versionKinds.windowOfLabel.parse('')).toBeUndefined();
});

test('windows are read and printed as they were written; none, or always, never holds back', () => {
  for (const kind of [versionKinds.window, versionKinds.windowOfLabel]) {
    const read = kind.parse('Sat,Sun 01:00-06:00; Wed 23:00-02:00');
    expect(read).toMatchObject({ kind: 'windows', windows: [{}, {}] });
    expect(read && kind.print?.(read)).toBe('Sat,Sun 01:00-06:00; Wed 23:00-02:00');
    expect(kind.parse('Always')).toEqual({ kind: 'always' });
    expect(kind.print?.({ kind: 'always' })).toBe('always');
  }
});

test('windows that cannot be read are refused as an option; as a label they keep updates back and say why', () => {
  for (const text of ['25:00-26:00', 'Someday', '02:00']) {
    expect(versionKinds.window.parse(text)).toBeUndefined();
    expect(versionKinds.windowOfLabel.parse(text)).toEqual({
      kind: 'unreadable',
      text,
      fault: expect.stringMatching(/\S/),
    });
  }
});
