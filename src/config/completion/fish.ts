import { type CompletedCommand, type CompletedFlag, listContainers } from './completed-command.ts';

/** Script for `upkeep completion fish | source`: https://fishshell.com/docs/current/completions.html */
export function fishScript(commands: readonly CompletedCommand[]): string {
  const names = commands.map(({ name }) => name).join(' ');
  return [
    '# fish completion for upkeep',
    'complete -c upkeep -f',
    ...commands.map(
      ({ name, summary }) =>
        `complete -c upkeep -n 'not __fish_seen_subcommand_from ${names}' -a ${name} -d ${quoted(summary)}`,
    ),
    ...commands.flatMap(({ name, flags, operands }) => {
      const where = `complete -c upkeep -n '__fish_seen_subcommand_from ${name}'`;
      return [
        ...flags.map((flag) => `${where} ${flagWords(flag)}`),
        ...(operands === 'containers' ? [`${where} -a ${quoted(`(${containersInFish})`)}`] : []),
        ...(operands !== 'containers' && operands.length > 0 ? [`${where} -a ${quoted(operands.join(' '))}`] : []),
      ];
    }),
    '',
  ].join('\n');
}

/** Fish groups commands otherwise. */
const containersInFish = listContainers.replace(/^\{ (.*); \}(.*)$/, 'begin; $1; end$2');

function flagWords({ name, short, meaning, value }: CompletedFlag): string {
  const letters = short === undefined ? '' : ` -s ${short}`;
  return `-l ${name}${letters} -d ${quoted(meaning)}${valueWords(value)}`;
}

function valueWords(value: CompletedFlag['value']): string {
  switch (value) {
    case 'none':
      return '';
    case 'text':
      return ' -x';
    case 'file':
      return ' -rF';
    case 'folder':
      return " -xa '(__fish_complete_directories)'";
    default:
      return ` -xa ${quoted(value.join(' '))}`;
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll(/['\\]/g, String.raw`\$&`)}'`;
}
