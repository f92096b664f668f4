import { dropInPrefix, labelNames, ownPrefix, type LabelName } from '../domain/label-names.ts';
import { variablesOf } from './environment.ts';
import { defaultText, flagText } from './option-text.ts';
import { optionGroups, type Option, type OptionGroup } from './option.ts';
import { optionEntries } from './options.ts';

/** `docs/configuration.md`, whole, in Markdown. */
export function configurationPage(): string {
  // The keys of the object that the type is made of.
  const groups = Object.keys(optionGroups) as OptionGroup[];
  return [
    introduction,
    ...groups.flatMap((group) => [`## ${optionGroups[group]}`, tableOfGroup(group)]),
    labelIntroduction,
    tableOfLabels(),
    '## Exit codes',
    tableOfExitCodes(),
  ]
    .join('\n\n')
    .concat('\n');
}

const introduction = `# Configuration

<!-- Written by scripts/docs.mjs from src/config/options.ts: change it there. -->

A flag wins over its \`UPKEEP_*\` variable, that over the \`WATCHTOWER_*\` variable of the same meaning, and that over the default. An empty variable counts as absent. The \`WATCHTOWER_*\` names are there so that a setup can be moved by changing the image alone; one line at the start lists those in use.

- Booleans: \`true\`, \`t\`, \`1\`, \`false\`, \`f\`, \`0\`, in any case. On the command line \`--cleanup\`, \`--cleanup=false\` and \`--no-cleanup\`.
- Durations: \`300ms\`, \`1.5s\`, \`1m30s\`, \`2h\`, \`3d\`, \`1w\`. A bare number counts seconds.
- Lists: separated by commas or spaces; a flag may also be repeated.

Every fault is reported at once and stops the start before anything is touched. A variable that looks like ours and is none is warned about.`;

const labelIntroduction = `## Labels of containers

A container states its own wishes with labels. \`${ownPrefix}*\` wins over the drop-in alias \`${dropInPrefix}*\`. A label under these prefixes that is not known, or whose value cannot be read, is warned about and not heard.`;

function tableOfExitCodes(): string {
  return table(
    ['Code', 'Meaning'],
    [
      ['0', 'Done'],
      ['1', 'A container failed or was rolled back, a value is wrong, or the engine cannot be used'],
      ['2', 'The command line is wrong'],
      ['10', `${code('upkeep check --exit-code')}: updates are available`],
      ['130', 'Ended by Ctrl-C, at a point where no container is half-replaced'],
      ['143', 'The same, by SIGTERM; the service itself ends with 0'],
    ],
  );
}

function tableOfGroup(group: OptionGroup): string {
  const rows = optionEntries
    .map(([, option]) => option)
    .filter((option) => option.group === group)
    .map((option) => [
      flagCell(option),
      variableCell(option),
      defaultText(option),
      meaningCell(option),
      exampleCell(option),
    ]);
  return table(['Flag', 'Variables', 'Default', 'Meaning', 'Example'], rows);
}

function flagCell(option: Option): string {
  return flagText(option) === '' ? '' : code(flagText(option));
}

function variableCell(option: Option): string {
  return variablesOf(option)
    .map(({ name }) => code(name))
    .join(' ');
}

function meaningCell(option: Option): string {
  const { meaning, deprecated } = option;
  const missing = commandsWithAnEngine.filter((name) => !option.commands.includes(name));
  const where = missing.length === 0 ? '' : ` (${option.commands.join(', ')})`;
  return `${meaning}${where}${deprecated === undefined ? '' : `. Deprecated: ${deprecated}`}`;
}

/** An option that all of these know needs no word about where it belongs. */
const commandsWithAnEngine = ['run', 'check', 'update'] as const;

function exampleCell(option: Option): string {
  if (option.flag === undefined) return code(`${variablesOf(option)[0]?.name ?? ''}=${option.example}`);
  if (option.kind !== 'boolean') return code(`--${option.flag} ${option.example}`);
  return code(option.default ? `--${option.flag}=false` : `--${option.flag}`);
}

/** What each label asks for. */
const labelMeanings: Readonly<Record<LabelName, string>> = {
  enable: 'false: leave this container alone; true: watch it also with --label-enable',
  'monitor-only': 'Report newer images, change nothing',
  'no-pull': 'Ask no registry for this container',
  'no-restart': 'Leave the new container stopped: it is created, and not proven',
  'depends-on': 'Names of the containers it needs, separated by commas; replaces what is found elsewhere',
  scope: 'Belongs to the instance that runs with this --scope',
  'stop-signal': 'The signal that asks it to stop',
  'stop-timeout': 'How long it may take to stop before it is killed',
  'cooldown-delay': 'An image must be at least so old before it is applied here; 0 for none',
  'health-window': 'Like --health-window, for this container',
  'health-timeout': 'Like --health-timeout, for this container',
  'lifecycle.pre-check': 'With --enable-lifecycle-hooks: a command to run in the container before each run',
  'lifecycle.pre-update': 'Likewise before it is stopped for an update; exit code 75 puts the update off',
  'lifecycle.post-update': 'Likewise after an update, once the new one has proved itself',
  'lifecycle.post-check': 'Likewise after each run',
  'lifecycle.pre-check-timeout': 'How long that is waited for, in minutes; 1 by default, 0 for a whole day',
  'lifecycle.pre-update-timeout': 'The same; when it has passed, the update fails',
  'lifecycle.post-update-timeout': 'The same; when it has passed, the update goes on',
  'lifecycle.post-check-timeout': 'The same',
  'lifecycle.uid': 'Like --lifecycle-uid, for this container',
  'lifecycle.gid': 'Like --lifecycle-gid, for this container',
};

function tableOfLabels(): string {
  const rows = labelNames.map((name) => [code(ownPrefix + name), code(dropInPrefix + name), labelMeanings[name]]);
  return table(['Label', 'Drop-in alias', 'Meaning'], rows);
}

function code(text: string): string {
  return `\`${text}\``;
}

/** Columns padded as the formatter wants them. */
function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [header, ...rows].map((row) => row.map((cell) => cell.replaceAll('|', String.raw`\|`)));
  const widths = header.map((_, column) => Math.max(3, ...all.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const [first = [], ...rest] = all;
  return [line(first), line(widths.map((width) => '-'.repeat(width))), ...rest.map(line)].join('\n');
}
