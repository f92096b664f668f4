import { dropInPrefix, ownPrefix } from '../../domain/container/label-names.ts';
import { variablesOf } from '../table/environment.ts';
import { foreignLabelRows, labelRows } from './label-reference.ts';
import { code, table } from './markdown.ts';
import { defaultText, flagText } from '../declaration/option-text.ts';
import { optionGroups, type Option, type OptionGroup } from '../declaration/option.ts';
import { optionEntries } from '../table/options.ts';

/** `docs/configuration.md`, whole, in Markdown. */
export function configurationPage(): string {
  // The keys of the object that the type is made of.
  const groups = Object.keys(optionGroups) as OptionGroup[];
  return [
    introduction,
    ...groups.flatMap((group) => [`## ${optionGroups[group]}`, tableOfGroup(group)]),
    labelIntroduction,
    table(['Label', 'Drop-in alias', 'Meaning', 'Example'], labelRows()),
    'Labels of others that are heard too:',
    table(['Label', 'Meaning'], foreignLabelRows()),
    '## Exit codes',
    tableOfExitCodes(),
  ]
    .join('\n\n')
    .concat('\n');
}

const introduction = `# Configuration

<!-- Written by scripts/docs.mjs from src/config/table/options.ts: change it there. -->

A flag wins over its \`UPKEEP_*\` variable, that over the \`WATCHTOWER_*\` variable of the same meaning, and that over the default. An empty variable counts as absent. The \`WATCHTOWER_*\` names are there so that a setup can be moved by changing the image alone; one line at the start lists those in use.

- Booleans: \`true\`, \`t\`, \`1\`, \`false\`, \`f\`, \`0\`, in any case. On the command line \`--cleanup\`, \`--cleanup=false\` and \`--no-cleanup\`.
- Durations: \`300ms\`, \`1.5s\`, \`1m30s\`, \`2h\`, \`3d\`, \`1w\`. A bare number counts seconds.
- Lists: separated by commas or spaces; a flag may also be repeated.

Every fault is reported at once and stops the start before anything is touched. A variable that looks like ours and is none is warned about.`;

const labelIntroduction = `## Labels of containers

A container states its own wishes with labels. \`${ownPrefix}*\` wins over the drop-in alias \`${dropInPrefix}*\`. Booleans are written as for options; an empty \`monitor-only\` or \`no-pull\` is false. A label under these prefixes that is not known, or whose value cannot be read, is warned about and not heard. Of the labels that a container has only from its image, [those count](security.md#labels-of-images) that dispose of nothing but that container.`;

function tableOfExitCodes(): string {
  return table(
    ['Code', 'Meaning'],
    [
      ['0', 'Done'],
      ['1', 'A container failed or was rolled back, a value is wrong, or the engine or the service cannot be used'],
      ['2', 'The command line is wrong'],
      ['10', `${code('upkeep check --exit-code')}: updates are available`],
      ['130', 'Ended by Ctrl-C, at a point where no container is half-replaced'],
      ['141', 'The reader of what is shown has gone: `upkeep events` with `head`'],
      ['143', 'The same as 130, by SIGTERM; the service itself ends with 0'],
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
  const { meaning, deprecated, withoutEffect } = option;
  const missing = commandsWithAnEngine.filter((name) => !option.commands.includes(name));
  const where = missing.length === 0 ? '' : ` (${option.commands.join(', ')})`;
  const notes = [
    ...(deprecated === undefined ? [] : [`. Deprecated: ${deprecated}`]),
    ...(withoutEffect === undefined ? [] : [`. No effect: ${withoutEffect}`]),
  ];
  return `${meaning}${where}${notes.join('')}`;
}

/** An option that all of these know needs no word about where it belongs. */
const commandsWithAnEngine = ['run', 'check', 'update'] as const;

function exampleCell(option: Option): string {
  if (option.flag === undefined) return code(`${variablesOf(option)[0]?.name ?? ''}=${option.example}`);
  if (option.kind !== 'boolean') return code(`--${option.flag} ${option.example}`);
  return code(option.default ? `--${option.flag}=false` : `--${option.flag}`);
}
