import { expect, test } from 'vitest';
import { tagPattern, tagPatternOfLabel, tagPolicy, tagPolicyOfLabel } from './tag-rules.ts';

test.each(['digest', 'patch', 'minor', 'major', 'regex:^(\\d+)-apache$'])(
  'the policy %s is printed as it is read',
  (text) => {
    const policy = tagPolicy.parse(text);
    expect(policy && tagPolicy.print?.(policy)).toBe(text);
    expect(tagPolicyOfLabel.parse(text)).toMatchObject({ kind: policy?.kind });
  },
);

test.each(['ptach', '', 'regex:', 'regex:\\d+', 'regex:(?!a)(b)'])(
  'the policy %j is refused, and of a label unreadable',
  (text) => {
    expect(tagPolicy.parse(text)).toBeUndefined();
    expect(tagPolicyOfLabel.parse(text)).toMatchObject({ kind: 'unreadable', text });
  },
);

test.each(['(', '(?!rc)', '(a{1000}){1000}'])('the pattern %j is refused, and of a label unreadable', (text) => {
  expect(tagPattern.parse(text)).toBeUndefined();
  expect(tagPatternOfLabel.parse(text)).toMatchObject({ kind: 'unreadable', text });
});

test('an empty pattern of a label takes the pattern of the option away', () => {
  expect(tagPatternOfLabel.parse('')).toEqual({ kind: 'none' });
});
