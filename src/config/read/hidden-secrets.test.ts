import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Option } from '../table/option.ts';
import { variablesOf } from '../table/environment.ts';
import { optionEntries } from '../table/options.ts';
import { loadConfiguration } from './load.ts';

const secret = 'hunter2hunter2';

/** A secret where an address, or a file in its place, may hold one. */
const inAddress = [
  ...[
    'http://me:S@h/',
    'http://S@h',
    'HTTP://ME:a@S@h',
    '"http://me:S@h"',
    'http://me:S\r\n@h',
    'http://me:S',
    'me:S@h',
  ],
  ...['ssh://me@nas:S@h', 'n=ssh://me:S@h', 'ssh://me%3AS@h', 'tcp://S@h:1', 'tcp://h:1?x=S', 'bad name=tcp://me:S@h'],
  ...['http://h/?token=S', 'http://h?S', 'http://h/#S', 'http:/h?a=b&token=S', `http://me:${'x'.repeat(5000)}S@h`],
  ...['-----BEGIN PRIVATE KEY-----\\nS'],
];

/** A whole secret, in the forms in which people write it. */
const alone = ['S', '-S', '/S', ' S ', '"S"', 'S,S', 'S S', 'S\nS', 'éS', 'http://S', 'discord://S@1'];

type Given = { readonly argv: readonly string[]; readonly environment: Readonly<Record<string, string>> };

/** The option with this text, written right and wrong. */
function spellings(option: Option, text: string): readonly Given[] {
  const byName = variablesOf(option).map(({ name }) => ({
    argv: [],
    environment: { [name]: text, [`${name}X`]: text },
  }));
  const { flag, short, secret: isSecret = false } = option;
  if (flag === undefined) return byName;
  const right = [[`--${flag}=${text}`], [`--${flag}`, text], [`--${flag}=${text}`, `--${flag}=x`]];
  const wrong = [
    [`--${flag}x=${text}`],
    [`--${flag.slice(0, -1)}=${text}`],
    [`-${flag}=${text}`],
    [`--${flag} ${text}`],
  ];
  const apart = [[`--${flag}x`, text], [`-${flag}`, text], [`--${flag}${text}`], [`--${flag}:${text}`], [`-p${text}`]];
  const cut = short === undefined ? [] : [[`-${short}=${text}`], [`-${short}${text}`]];
  const lines = [...right, ...wrong, ...cut, ...(isSecret ? apart : [])];
  return [...byName, ...lines.map((argv) => ({ argv, environment: {} }))];
}

test('no message, warning or shown option has a secret of any option, however it is written', () => {
  const cases = fc.constantFrom(...optionEntries.map(([, option]) => option)).chain((option) =>
    fc.constantFrom(...inAddress, ...(option.secret === true ? alone : [])).chain((text) =>
      fc.record({
        command: fc.constantFrom('config', ...option.commands),
        given: fc.constantFrom(...spellings(option, text.replaceAll('S', secret))),
      }),
    ),
  );
  fc.assert(
    fc.property(cases, ({ command, given: { argv, environment } }) => {
      const loaded = loadConfiguration([command, ...argv], environment);
      const told = loaded.kind === 'command' ? { ...loaded, settings: undefined } : loaded;
      expect(JSON.stringify(told).toLowerCase()).not.toContain(secret.slice(0, 7));
    }),
    { numRuns: 100 },
  );
}, 20_000);
