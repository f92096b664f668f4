import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { loadConfiguration } from '../src/config/read/load.ts';
import { commandsOf, fencesOf, linksOf, anchorsOf } from './support/pages/pages.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const textOf = (path: string) => readFileSync(join(root, path), 'utf8');
const pages = [
  ...['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md', 'examples/README.md', 'test/lab/README.md'],
  ...['docs', 'docs/decisions'].flatMap((folder) =>
    readdirSync(join(root, folder))
      .filter((name) => name.endsWith('.md'))
      .map((name) => `${folder}/${name}`),
  ),
];
const { scripts } = JSON.parse(textOf('package.json')) as { readonly scripts: Readonly<Record<string, string>> };
const projects = [...textOf('vitest.config.ts').matchAll(/name: '(\w+)'/g)].map(([, name]) => name);
const suites = [...textOf('scripts/test/suites.mjs').matchAll(/name: '(\w+)'/g)].map(([, name]) => name);

describe.each(pages)('%s', (page) => {
  const text = textOf(page);

  test('names only commands that there are', () => {
    const environment: Record<string, string> = {};
    for (const command of commandsOf(text)) {
      for (const [, name = '', value = ''] of command.matchAll(/\b([A-Z_]+)=(\S+)/g)) environment[name] = value;
      expect([command, syntaxErrorOf(command)]).toEqual([command, '']);
      for (const part of command.split(/ (?:&&|\|\|?) /))
        expect([part, judge(part, environment)]).toEqual([part, undefined]);
    }
  });

  test('has JSON and YAML that can be read', () => {
    for (const { language, content } of fencesOf(text)) {
      if (language === 'json') expect(() => JSON.parse(content) as unknown).not.toThrow();
      if (language === 'yaml') expect(() => parse(content) as unknown).not.toThrow();
    }
  });

  test('links to what is there', () => {
    const broken = linksOf(text).filter((link) => {
      const [path = '', anchor] = link.split('#');
      const file = path === '' ? page : join(dirname(page), path);
      if (!existsSync(join(root, file))) return true;
      return anchor !== undefined && !anchorsOf(textOf(file)).includes(anchor);
    });
    expect(broken).toEqual([]);
  });
});

/** The reason why a command must be wrong; undefined if it may be right. */
function judge(command: string, environment: Environment): string | undefined {
  const words = wordsOf(command.replace(/^(?:\w+=\S* )+/, ''));
  const [program = '', ...args] = words;
  if (program === 'upkeep') return refusalOf(args, environment);
  const atUpkeep = words.lastIndexOf('upkeep');
  switch (program) {
    case 'docker':
      if (args[0] === 'exec')
        return words[3] === 'upkeep' ? refusalOf(words.slice(4), {}) : `docker exec ${args.join(' ')}`;
      return args[0] === 'run' && atUpkeep > 0 ? refusalOf(words.slice(atUpkeep + 1), {}) : undefined;
    case 'systemd-run':
      return refusalOf(words.slice(atUpkeep + 1), environment);
    case 'npm':
      return judgeNpm(args);
    case 'npx':
      return args[0] === 'upkeep' ? refusalOf(args.slice(1), environment) : judgeVitest(args);
    default:
      return program in otherPrograms ? undefined : `nobody has said what "${program}" is`;
  }
}

/** Programs in examples that are not part of Upkeep. */
const otherPrograms: Readonly<Record<string, string>> = {
  curl: 'asks the HTTP API',
  export: 'sets variables',
  install: 'copies the systemd unit',
  node: 'runs a script of the tests',
  openssl: 'makes a token',
  podman: 'as docker',
  systemctl: 'starts the unit',
};

function refusalOf(args: readonly string[], environment: Environment): string | undefined {
  const configuration = loadConfiguration(args.map(withFilesOfHere), environment);
  return configuration.kind === 'faults' ? configuration.message : undefined;
}

/** Secrets and certificates are missing on this machine. */
function withFilesOfHere(word: string): string {
  if (word.startsWith('/run/secrets/')) return 'a'.repeat(32);
  return word === '~/.docker' ? join(root, 'test/fixtures/tls') : word;
}

type Environment = Readonly<Record<string, string>>;

function judgeNpm([action = '', name = '', ...rest]: readonly string[]): string | undefined {
  if (action === 'ci' || action === 'install') return undefined;
  if (action === 'run') {
    if (!(name in scripts)) return `there is no script "${name}"`;
    return name === 'lab' && rest[1] === 'npx' ? judgeVitest(rest.slice(2)) : undefined;
  }
  if (action !== 'test') return `npm ${action}`;
  const unknown = rest.filter((word) => /^\w+$/.test(word) && !suites.includes(word));
  return unknown.length === 0 ? undefined : `there is no suite "${unknown.join('", "')}"`;
}

function judgeVitest(args: readonly string[]): string | undefined {
  const project = args[args.indexOf('--project') + 1];
  if (args[0] !== 'vitest') return `npx ${args[0]}`;
  return projects.includes(project ?? '') ? undefined : `there is no project "${project}"`;
}

function syntaxErrorOf(command: string): string {
  return spawnSync('bash', ['-n', '-c', command], { encoding: 'utf8' }).stderr;
}

/** Splits into words like a shell, without comments; quotes are supported only around whole words. */
function wordsOf(command: string): string[] {
  const words = command.replace(/ +#.*$/, '').match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g) ?? [];
  return words.map((word) => word.replaceAll(/["']/g, ''));
}
