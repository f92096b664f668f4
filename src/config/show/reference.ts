import { dropInPrefix, originalImageLabel, ownPrefix, watchtowerLabel } from '../../domain/image/labels.ts';
import { variablesOf } from '../table/environment.ts';
import { defaultText, flagText, type Option } from '../table/option.ts';
import { labelTable } from '../../domain/settings/table/service-options.ts';
import { optionGroups, type OptionGroup } from '../../domain/settings/table/option.ts';
import { optionEntries } from '../table/options.ts';

/** The complete `docs/configuration.md` in Markdown. */
export function configurationPage(): string {
  // The keys of the object are the type's members.
  const groups = (Object.keys(optionGroups) as OptionGroup[]).filter((group) => group !== 'accepted');
  return [
    introduction(),
    ...groups.flatMap(sectionOf),
    `## ${optionGroups.accepted}`,
    ...leftOvers(
      listed.filter(({ withoutEffect }) => withoutEffect !== undefined),
      ({ withoutEffect = '' }) => withoutEffect,
    ),
    labelIntroduction,
    labelsLikeOptions(),
    listOf(ownLabelRows()),
    'Labels of other tools:',
    listOf(foreignLabelRows()),
    exitCodes,
  ]
    .join('\n\n')
    .concat('\n');
}

const listed = optionEntries.map(([, option]) => option).filter(({ internal }) => internal !== true);

function introduction(): string {
  const flagOnly = listed.filter((option) => option.flag !== undefined && variablesOf(option).length === 0);
  return `# Configuration

<!-- Written by scripts/docs.mjs from src/config/table/ and src/domain/settings/table/: change it there. -->

Set an option as a flag or as a variable: \`--scope nas\` is \`UPKEEP_SCOPE=nas\`, or \`WATCHTOWER_SCOPE=nas\` as in Watchtower. In \`compose.yaml\`, write variables under \`environment\`; anywhere in it, write \`$\` as \`$$\`. A flag overrides a variable, \`UPKEEP_*\` overrides \`WATCHTOWER_*\`, and an empty variable does not count.

Lines below read like this: \`-t, --stop-timeout DURATION\` \`UPKEEP_STOP_TIMEOUT\` \`UPKEEP_TIMEOUT\` (30s). The flag comes first, then its variables, then the default in parentheses. A line without a variable has the usual one: \`--monitor-only\` is \`UPKEEP_MONITOR_ONLY\`. Without a default, an option is off or empty. If a line ends with a command in parentheses, only that command has the option.

- **Yes or no:** \`true\`, \`t\`, \`1\`, \`yes\`, \`on\`, \`false\`, \`f\`, \`0\`, \`no\`, \`off\`, in any case. As flags: \`--cleanup\`, \`--cleanup=false\`, \`--no-cleanup\`.
- **Durations:** \`300ms\`, \`1.5s\`, \`1m30s\`, \`2h\`, \`3d\`, \`1w\`. A plain number means seconds.
- **Lists:** separate items by commas (in most lists, spaces work too), or repeat the flag.
- **Quotation marks** around a whole value are dropped, because compose passes them on (\`- UPKEEP_SCOPE="nas"\`). Around a secret this causes a warning; in a template they stay.
- **No variable** for ${flagOnly.map((option) => code(`--${option.flag}`)).join(', ')}.

Upkeep does not start with an invalid value, and warns about unknown variables. \`upkeep COMMAND --help\` lists the common options of a command, \`upkeep COMMAND --help --all\` all of them, \`upkeep config --changed\` those that you have set. Upkeep checks and updates *watched* containers. The *engine* is Docker or Podman. *Linked* containers share a network, IPC or PID namespace, use \`volumes_from\`, or have legacy links.`;
}

const labelIntroduction = `## Labels of containers

A label sets an option for one container. Watchtower's prefix \`${dropInPrefix}\` works too; \`${ownPrefix}\` counts first. Write values as for options, lists with commas.

Upkeep ignores an unknown label or an invalid value, with a warning, except for labels that restrain updates: an invalid \`enable\` counts as false, an invalid \`monitor-only\` or \`no-pull\` as true (an empty one as false), an invalid \`approve\` as true, and with an invalid \`window\`, \`cooldown-delay\`, \`policy\`, \`tag-include\`, \`tag-exclude\`, \`verify\`, \`verify-annotation\`, \`data\` or \`no-restart\` the container is not updated; an invalid \`verify-identity\` allows no other name. Of the labels in an image, only [a safe subset](security.md#labels-of-images) counts.`;

const exitCodes = `## Exit codes

${table(
  ['Code', 'Meaning'],
  [
    ['0', 'Done'],
    [
      '1',
      'A container failed or was rolled back; the engine or the service cannot be used; the output cannot be written; or `upkeep run` has a wrong value',
    ],
    ['2', 'Wrong command line; or, except in `upkeep run`, a wrong value of an option or variable'],
    ['3', 'Nothing failed, but something could not be checked or rolled back, or a repair is pending'],
    ['10', '`upkeep check --exit-code`: updates are available'],
    ['129, 130, 143', 'Ended by SIGHUP, Ctrl-C or SIGTERM at a safe point; the service ends with 0'],
    ['141', 'The reader of the output closed it, as `head` does'],
  ],
)}`;

function sectionOf(group: OptionGroup): readonly string[] {
  const options = listed.filter((option) => option.group === group);
  const usual = usualCommands(options);
  const items = options
    .filter((option) => option.deprecated === undefined && !isOfOtherPrograms(option))
    .map((option) => `- ${nameCell(option)}${defaultNote(option)}: ${meaningCell(option, usual)}`);
  const old = options.filter(({ deprecated }) => deprecated !== undefined);
  return [
    `## ${optionGroups[group]}`,
    ...(explained[group] === undefined ? [] : [`See ${explained[group]}.`]),
    items.join('\n'),
    ...leftOvers(options.filter(isOfOtherPrograms), () => 'read by Upkeep as by other programs'),
    ...leftOvers(old, ({ deprecated = '' }) => `deprecated, ${deprecated}`),
  ];
}

/** A variable that many programs read, unlike REPO_USER and REPO_PASS. The pages about a group explain it. */
function isOfOtherPrograms({ flag, env = [], plainEnv = [] }: Option): boolean {
  return (
    flag === undefined && env.length === 0 && plainEnv.length > 0 && !plainEnv.some((name) => name.startsWith('REPO_'))
  );
}

/** The pages about the options of a group. */
const explained: Partial<Record<OptionGroup, string>> = {
  update:
    '[what options change](what-options-change.md), [holding back](holding-back.md), [tag policies](tag-policies.md), [signatures](signatures.md) and [data](data.md)',
  hooks: '[lifecycle hooks](lifecycle-hooks.md)',
  state: '[the state folder](state.md)',
  engine: '[engines](engines.md) and [several engines](fleet.md)',
  registry: '[registries](registries.md), [signatures](signatures.md) and [release notes](release-notes.md)',
  http: '[the page](dashboard.md), [sign-in](sign-in.md), [the API](http-api.md), [reverse proxies](reverse-proxies.md) and [webhooks](webhooks.md)',
  notifications: '[notifications](notifications.md)',
};

function defaultNote(option: Option): string {
  const text =
    option.kind === 'boolean' && option.default && option.defaultMeaning === undefined ? 'on' : defaultText(option);
  return text === 'false' || /^none\b/.test(text) ? '' : ` (${text})`;
}

/** The commands of most options of a group. */
function usualCommands(options: readonly Option[]): string {
  const counts = grouped(options, commandsOf);
  return [...counts].toSorted(([, one], [, other]) => other.length - one.length)[0]?.[0] ?? everyCheck;
}

function grouped(
  options: readonly Option[],
  keyOf: (option: Option) => string,
): ReadonlyMap<string, readonly Option[]> {
  const keys = new Set(options.map((option) => keyOf(option)));
  return new Map([...keys].map((key) => [key, options.filter((option) => keyOf(option) === key)]));
}

/** The commands of an option; one text for all options that `run`, `check` and `update` take. */
function commandsOf({ commands }: Option): string {
  return commandsWithAnEngine.every((name) => commands.includes(name)) ? everyCheck : commands.join(', ');
}

const commandsWithAnEngine = ['run', 'check', 'update'] as const;
const everyCheck = commandsWithAnEngine.join(', ');

function nameCell(option: Option): string {
  return [flagText(option), ...shownVariables(option)]
    .filter((name) => name !== '')
    .map(code)
    .join(' ');
}

/** The variables without their Watchtower names. None if the only name follows from the flag. */
function shownVariables(option: Option): readonly string[] {
  const usual = `UPKEEP_${option.flag?.replaceAll('-', '_').toUpperCase()}`;
  const names = variablesOf(option).flatMap(({ name, alias }) => (alias ? [] : [name]));
  return names.every((name) => name === usual) ? [] : names;
}

/** Only options of a single command name it: the help of each command has all. */
function meaningCell(option: Option, usual: string): string {
  const { meaning, kind, example, commands } = option;
  const named = commands.length > 1 || commandsOf(option) === usual ? '' : ` (${commands.join(', ')})`;
  const tells = kind === 'list' || kind === 'parsed' || kind === 'text';
  const tellsMore = /[=*^{%:]/.test(example) && !/^(?:\/|https?:)/.test(example) && !meaning.includes(example);
  const shown = tells && option.flag !== undefined && tellsMore;
  return `${meaning}${shown ? `. Example: ${code(example)}` : ''}${named}`;
}

/** Flags that have the same remark, in one line for each remark. */
function leftOvers(options: readonly Option[], remarkOf: (option: Option) => string): readonly string[] {
  const lines = [...grouped(options, remarkOf)].map(
    ([remark, group]) => `- ${group.map(nameOf).join(', ')}: ${remark}`,
  );
  return lines.length === 0 ? [] : [lines.join('\n')];
}

function nameOf(option: Option): string {
  const others = shownVariables(option).map(code).join(', ');
  if (option.flag === undefined) return others;
  return `${code(`--${option.flag}`)}${others === '' ? '' : ` (${others})`}`;
}

/** The labels of which nothing but their option is to be told. */
function labelsLikeOptions(): string {
  const names = labelTable.flatMap(({ name, meaning }) => {
    const [, flag, note = ''] = likeAnOption.exec(meaning) ?? [];
    if (flag === undefined) return [];
    return `${code(ownPrefix + name)}${flag === name ? '' : ` (${code(`--${flag}`)})`}${note === '' ? '' : ` (${note})`}`;
  });
  return `Like the option of the same name: ${names.join(', ')}.`;
}

const likeAnOption = /^Like --(\S+), for this container(?:; (.*))?$/;

function ownLabelRows(): readonly (readonly string[])[] {
  return labelTable
    .filter(({ meaning }) => !likeAnOption.test(meaning))
    .map(({ name, meaning, example }) => [code(`${ownPrefix}${name}=${example}`), meaning]);
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
    [code(`${watchtowerLabel}=true`), 'An updater of the Watchtower family. No effect'],
    [code(originalImageLabel), "Image to update to, instead of the container's own. Ignored on an image"],
    [
      code('com.docker.compose.depends_on'),
      'Dependencies of a compose service, unless --use-compose-depends-on is off',
    ],
    [
      code('com.docker.compose.project'),
      'With the labels service, project.working_dir and project.config_files: tells Upkeep the stack of a container and its compose files',
    ],
    [code('com.docker.swarm.task.id'), 'A task of a Swarm service, not updated'],
    [
      code('com.docker.compose.oneoff=True'),
      'Not watched without its own label upkeep.enable=true, like [other programs](operations.md#containers-of-other-programs)',
    ],
  ];
}

function code(text: string): string {
  return `\`${text}\``;
}

function listOf(rows: readonly (readonly string[])[]): string {
  return rows.map(([name = '', meaning = '']) => `- ${name}: ${meaning}`).join('\n');
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [
    header,
    header.map(() => '---'),
    ...rows.map((row) => row.map((cell) => cell.replaceAll('|', String.raw`\|`))),
  ];
  return all.map((row) => `| ${row.join(' | ')} |`).join('\n');
}
