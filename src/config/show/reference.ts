import { dropInPrefix, originalImageLabel, ownPrefix, watchtowerLabel } from '../../domain/image/labels.ts';
import { variablesOf } from '../table/environment.ts';
import { defaultText, flagText, type Option } from '../table/option.ts';
import { labelTable } from '../../domain/settings/table/service-options.ts';
import { optionGroups, type OptionGroup } from '../../domain/settings/table/option.ts';
import { optionEntries } from '../table/options.ts';

/** The complete `docs/configuration.md` in Markdown. */
export function configurationPage(): string {
  // The keys of the object are the type's members.
  const groups = Object.keys(optionGroups) as OptionGroup[];
  return [
    introduction,
    ...groups.flatMap((group) => [`## ${optionGroups[group]}`, tableOfGroup(group)]),
    labelIntroduction,
    table(['Label', 'Drop-in alias', 'Meaning', 'Example'], labelRows()),
    'Labels of other tools:',
    table(['Label', 'Meaning'], foreignLabelRows()),
    '## Exit codes',
    tableOfExitCodes(),
  ]
    .join('\n\n')
    .concat('\n');
}

const introduction = `# Configuration

<!-- Written by scripts/docs.mjs from src/config/table/ and src/domain/settings/table/: change it there. -->

A flag overrides its \`UPKEEP_*\` variable. The \`UPKEEP_*\` variable overrides the \`WATCHTOWER_*\` variable of the same meaning, which overrides the default. An empty variable counts as absent. \`WATCHTOWER_*\` variables exist so that a Watchtower setup works without changes; a log line at the start lists the variables in use.

- Booleans: \`true\`, \`t\`, \`1\`, \`yes\`, \`on\`, \`false\`, \`f\`, \`0\`, \`no\`, \`off\`, in any case. On the command line \`--cleanup\`, \`--cleanup=false\` and \`--no-cleanup\`.
- Durations: \`300ms\`, \`1.5s\`, \`1m30s\`, \`2h\`, \`3d\`, \`1w\`. A number without a unit means seconds.
- Lists: separated by commas or spaces; a flag may also be repeated.
- Quotation marks around a whole value count as not written, because compose passes them on (\`- UPKEEP_SCOPE="nas"\`). Around a secret they are named in a warning. In a template they count.

Upkeep reports all invalid options together and does not start. It warns about unknown \`UPKEEP_*\` and \`WATCHTOWER_*\` variables.`;

const labelIntroduction = `## Labels of containers

Labels set options for one container. \`${ownPrefix}*\` overrides the drop-in alias \`${dropInPrefix}*\`. Booleans have the same values as for options; an empty \`monitor-only\` or \`no-pull\` is false. Quotation marks around a value count as not written, except for commands. Unknown labels with these prefixes, and labels with an invalid value, are ignored with a warning, except that an invalid \`enable\` counts as false, an invalid \`monitor-only\` or \`no-pull\` as true, and that \`window\`, \`cooldown-delay\`, \`policy\`, \`tag-include\`, \`tag-exclude\`, \`approve\`, \`verify\` and \`verify-annotation\` then hold updates back, of the container's own tag too. For labels that come from the image, only [a safe subset](security.md#labels-of-images) counts.`;

function tableOfExitCodes(): string {
  return table(
    ['Code', 'Meaning'],
    [
      ['0', 'Done'],
      [
        '1',
        'A container failed or was rolled back, the engine or the service cannot be used, a service cannot start with a value, or the output cannot be written',
      ],
      ['2', 'The command line, or a value of an option or variable, is wrong'],
      ['3', 'Nothing failed, but something could not be checked or rolled back, or a repair is pending'],
      ['10', `${code('upkeep check --exit-code')}: updates are available`],
      ['130', 'Ended by Ctrl-C, at a safe point of the update'],
      ['141', 'The reader of the output has closed it: `upkeep events` with `head`'],
      ['129, 143', 'The same as 130, by SIGHUP or SIGTERM; the service itself ends with 0'],
    ],
  );
}

function tableOfGroup(group: OptionGroup): string {
  const rows = optionEntries
    .map(([, option]) => option)
    .filter((option) => option.group === group)
    .map((option) => [
      flagText(option) && code(flagText(option)),
      variableCell(option),
      defaultText(option),
      meaningCell(option),
      exampleCell(option),
    ]);
  return table(['Flag', 'Variables', 'Default', 'Meaning', 'Example'], rows);
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

/** An option of all these commands is shown without a list of commands. */
const commandsWithAnEngine = ['run', 'check', 'update'] as const;

function exampleCell(option: Option): string {
  if (option.flag === undefined) return code(`${variablesOf(option)[0]?.name ?? ''}=${option.example}`);
  if (option.kind !== 'boolean') return code(`--${option.flag} ${option.example}`);
  return code(option.default ? `--${option.flag}=false` : `--${option.flag}`);
}

/** The rows of all our labels: label, alias, meaning, example. */
export function labelRows(): readonly (readonly string[])[] {
  return labelTable.map(({ name, meaning, example }) => [
    code(ownPrefix + name),
    code(dropInPrefix + name),
    meaning,
    code(`${ownPrefix}${name}=${example}`),
  ]);
}

/** Labels of other programs, with their use in Upkeep. */
export function foreignLabelRows(): readonly (readonly string[])[] {
  return [
    [code(`${watchtowerLabel}=true`), 'Marks an updater of the Watchtower family. It has no effect on the container'],
    [
      code(originalImageLabel),
      'Image to update to, instead of the image that the container was created from. Ignored on an image',
    ],
    [
      code('com.docker.compose.depends_on'),
      'Dependencies of a compose service, unless --use-compose-depends-on is off',
    ],
    [
      code('com.docker.compose.project'),
      'With the label service: identifies the containers of these dependencies, with the same project.working_dir and a common file in project.config_files',
    ],
    [
      code('com.docker.swarm.task.id'),
      'Marks a task of a Swarm service, which Swarm replaces itself. Upkeep does not update it',
    ],
    [
      code('com.docker.compose.oneoff=True'),
      'Marks a container of docker compose run, which is not watched without its own label upkeep.enable=true. So do the marks of [other programs](operations.md#containers-of-other-programs), such as Kubernetes and CI runners',
    ],
  ];
}

function code(text: string): string {
  return `\`${text}\``;
}

/** A table with padded columns, as the formatter requires. */
function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [header, ...rows].map((row) => row.map((cell) => cell.replaceAll('|', String.raw`\|`)));
  const widths = header.map((_, column) => Math.max(3, ...all.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const [first = [], ...rest] = all;
  return [line(first), line(widths.map((width) => '-'.repeat(width))), ...rest.map(line)].join('\n');
}
