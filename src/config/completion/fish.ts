import {
  type CompletedCommand,
  type CompletedFlag,
  flagsWithValue,
  listContainers,
  spellingsOf,
  withoutName,
} from './completed-command.ts';

/** Script for `upkeep completion fish | source`: https://fishshell.com/docs/current/completions.html */
export function fishScript(commands: readonly CompletedCommand[]): string {
  return [
    '# fish completion for upkeep',
    commandTest(commands),
    'complete -c upkeep -f',
    ...commands.map(
      ({ name, summary }) => `complete -c upkeep -n '__upkeep_command_is ""' -a ${name} -d ${quoted(summary)}`,
    ),
    ...commands.flatMap(({ name, flags, operands }) => {
      const where = `complete -c upkeep -n '__upkeep_command_is ${name}'`;
      const whereFlags = name === withoutName ? `complete -c upkeep -n '__upkeep_command_is ${name} ""'` : where;
      return [
        ...flags.map((flag) => `${whereFlags} ${flagWords(flag)}`),
        ...(operands === 'containers' ? [`${where} -a ${quoted(`(${containersInFish})`)}`] : []),
        ...(operands !== 'containers' && operands.length > 0 ? [`${where} -a ${quoted(operands.join(' '))}`] : []),
      ];
    }),
    '',
  ].join('\n');
}

/** A function that is true if the command of the line is one of its arguments. Empty: no command is named yet. */
function commandTest(commands: readonly CompletedCommand[]): string {
  return `function __upkeep_command_is
    set -l words (commandline -opc)
    set -e words[1]
    set -l command ''
    set -l option ''
    for word in $words
        if test -n "$option"
            set option ''
            continue
        end
        switch $word
            case ${flagsWithValue(commands).flatMap(spellingsOf).join(' ')}
                set option $word
            case '-*'
            case ${commands.map(({ name }) => name).join(' ')}
                set command $word
                break
            case '*'
                set command ${withoutName}
                break
        end
    end
    contains -- "$command" $argv
end`;
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
