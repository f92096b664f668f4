import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runUpkeep } from '../../support/scene/run-upkeep.ts';

/** The scripts of `upkeep completion`, in the real shells. */
const folder = mkdtempSync(join(tmpdir(), 'upkeep-completion-'));
const run = promisify(execFile);

beforeAll(async () => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { code, stdout } = await runUpkeep(['completion', shell]);
    expect(code).toBe(0);
    writeFileSync(join(folder, shell), stdout);
  }
  // A client of an engine with two containers.
  // The engine lies.
  const lies = [
    '$(touch pwned)',
    '`touch pwned`',
    'wo$(touch pwned)',
    '${x:=$(touch pwned)}',
    'we;touch pwned',
    '-rf',
    'we*',
    "we'b",
  ];
  const names = ['web', ...lies, 'worker'].map((name) => `printf '%s\\n' '${name.replaceAll("'", String.raw`'\''`)}'`);
  writeFileSync(join(folder, 'docker'), `#!/bin/sh\n${names.join('\n')}\n`, { mode: 0o755 });
  writeFileSync(join(folder, 'upkeep'), '#!/bin/sh\n', { mode: 0o755 });
});

afterAll(() => rmSync(folder, { recursive: true }));

type Complete = (words: readonly string[]) => Promise<readonly string[]>;

const bash: Complete = async (words) =>
  linesOf(
    'bash',
    '-c',
    `source "$0"; COMP_LINE="$*"; COMP_POINT=\${#COMP_LINE}; _upkeep; printf '%s\\n' "\${COMPREPLY[@]}"`,
    join(folder, 'bash'),
    ...words,
  );

const fish: Complete = async (words) => {
  const lines = await linesOf(
    'fish',
    '--no-config',
    '-c',
    `source ${join(folder, 'fish')}; complete -C '${words.join(' ')}'`,
  );
  return lines.map((line) => line.split('\t')[0] ?? '');
};

/**
 * The command line of zsh after Tab. Keys must wait for its line editor: before that, the terminal itself handles ^U.
 * https://zsh.sourceforge.io/Doc/Release/Zsh-Modules.html#The-zsh_002fzpty-Module
 */
const zsh: Complete = async (words) => {
  const script = `
    zmodload zsh/zpty
    zpty shell zsh -f -i
    zpty -w shell "PS1=; unsetopt zle_bracketed_paste; autoload -U compinit; compinit -u -D; source ${join(folder, 'zsh')}"
    zpty -w shell "compadd() { builtin compadd -O found \\"\\$@\\"; print -rl -- \\"<\\"\\$^found\\">\\"; builtin compadd \\"\\$@\\" }"
    zpty -w shell "zle-line-init() { print line-edi''tor }; zle -N zle-line-init"
    zpty -r shell out '*line-editor*'
    zpty -n -w shell "${words.join(' ')}"$'\\t'
    zpty -n -w shell $'\\C-u'"echo do''ne"$'\\n'
    while zpty -r shell out; do print -r -- "$out"; [[ $out == *done* ]] && break; done
    zpty -d shell
  `;
  const lines = await linesOf('zsh', '-f', '-c', script);
  return lines.flatMap((line) => [...line.matchAll(/<([^<>]+)>/g)].map(([, word = '']) => word));
};

describe.each([
  ['bash', bash],
  ['fish', fish],
  ['zsh', zsh],
])('in %s', (_, complete) => {
  test('completes commands, their options, values and containers', async () => {
    expect(await complete(['upkeep', 'up'])).toContain('update');
    const flags = (await complete(['upkeep', 'update', '--dr'])).map((word) => word.replace(/=$/, ''));
    expect(flags).toContain('--dry-run');
    expect(flags).not.toContain('--http-api-port');
    expect(await complete(['upkeep', 'update', 'w'])).toEqual(expect.arrayContaining(['web', 'worker']));
    expect(await complete(['upkeep', 'run', '--log-level', 'de'])).toContain('debug');
    expect(await complete(['upkeep', 'notify', 'pre'])).toContain('preview');
  });

  test('offers names of containers only, and executes nothing that a lying engine calls one', async () => {
    for (const line of [
      ['upkeep', 'update', 'w'],
      ['upkeep', 'rollback', 'w'],
      ['upkeep', 'check', 'web', 'wo'],
    ]) {
      const words = (await complete(line)).filter((word) => !word.startsWith('--'));
      expect(words.filter((word) => word !== 'web' && word !== 'worker')).toEqual([]);
    }
    expect(existsSync(join(folder, 'pwned')) || existsSync('pwned')).toBe(false);
  });

  test('completes the value after an equals sign', async () => {
    const values = (await complete(['upkeep', 'run', '--log-level=de'])).map((word) => word.replace(/^.*=/, ''));
    expect(values).toEqual(['debug']);
  });

  test('knows a command after options, and does not take the value of an option for one', async () => {
    expect(await complete(['upkeep', '--scope', 'check', 'up'])).toContain('update');
    expect(await complete(['upkeep', '--scope', 'check', 'notify', 'pre'])).toContain('preview');
    expect(await complete(['upkeep', '--log-level', 'de'])).toContain('debug');
    const flags = await complete(['upkeep', '--scope', 'run', 'completion', '--']);
    expect(flags.join(' ')).not.toContain('--http-api-port');
  });

  test('takes a first word that is no command for a container', async () => {
    expect(await complete(['upkeep', 'web', 'wor'])).toEqual(['worker']);
  });

  test('completes help and version', async () => {
    expect(await complete(['upkeep', 'hel'])).toEqual(['help']);
    expect(await complete(['upkeep', 'vers'])).toEqual(['version']);
    expect(await complete(['upkeep', 'help', 'rollb'])).toEqual(['rollback']);
    expect((await complete(['upkeep', '--vers'])).join(' ')).toContain('--version');
  });
});

test('an unknown shell is refused with those that there are', async () => {
  const { code, stdout, stderr } = await runUpkeep(['completion', 'tcsh']);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toBe(
    'upkeep: Cannot print a completion script: "tcsh" is not a supported shell; name one of bash, zsh, fish\n',
  );
});

async function linesOf(program: string, ...args: readonly string[]): Promise<readonly string[]> {
  const env = { ...process.env, PATH: `${folder}:${process.env['PATH'] ?? ''}`, TERM: 'dumb', HOME: folder };
  const { stdout } = await run(program, args, { env, timeout: 20_000 });
  return stdout
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
}
