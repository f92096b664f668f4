import {
  type CompletedCommand,
  type CompletedFlag,
  flagsWithValue,
  listContainers,
  spellingsOf,
  withoutName,
} from './completed-command.ts';

/** Script for `source <(upkeep completion zsh)`: https://zsh.sourceforge.io/Doc/Release/Completion-System.html */
export function zshScript(commands: readonly CompletedCommand[]): string {
  return `#compdef upkeep
_upkeep_containers() {
  local -a names
  names=(\${(f)"$(${listContainers})"})
  compadd -a names
}
_upkeep() {
  local -a commands
  commands=(
${commands.map(({ name, summary }) => `    ${quoted(`${name}:${summary}`)}`).join('\n')}
  )
  local command= option=
  local -i at
  for (( at = 2; at < CURRENT; at++ )); do
    if [[ -n $option ]]; then
      option=
      continue
    fi
    case $words[at] in
      ${flagsWithValue(commands).flatMap(spellingsOf).join('|')}) option=$words[at] ;;
      -*) ;;
      ${commands.map(({ name }) => name).join('|')})
        command=$words[at]
        words[at]=()
        (( CURRENT-- ))
        break ;;
      *)
        command=${withoutName}
        break ;;
    esac
  done
  if [[ -z $command && -z $option && $words[CURRENT] != -* ]]; then
    _describe -t commands command commands
    return
  fi
  case \${command:-${withoutName}} in
${commands.map(commandCase).join('\n')}
  esac
}
compdef _upkeep upkeep
`;
}

function commandCase({ name, flags, operands }: CompletedCommand): string {
  const rest = operands === 'containers' ? "'*:container:_upkeep_containers'" : wordsOf(operands);
  const specs = [...flags.flatMap(specsOf), ...(rest === '' ? [] : [rest])];
  return `    ${name}) ${specs.length === 0 ? '' : `_arguments ${specs.join(' ')} `};;`;
}

function wordsOf(operands: readonly string[]): string {
  return operands.length === 0 ? '' : `'*:word:(${operands.join(' ')})'`;
}

/** Each spelling of a flag has its own: https://zsh.sourceforge.io/Doc/Release/Completion-System.html#Completion-Functions */
function specsOf({ name, short, meaning, value }: CompletedFlag): readonly string[] {
  const text = `[${meaning.replaceAll(/[[\]\\:]/g, String.raw`\$&`)}]`;
  const after = value === 'none' ? '' : `:${actionOf(value)}`;
  const long = quoted(`--${name}${value === 'none' ? '' : '='}${text}${after}`);
  return short === undefined ? [long] : [long, quoted(`-${short}${value === 'none' ? '' : '+'}${text}${after}`)];
}

function actionOf(value: Exclude<CompletedFlag['value'], 'none'>): string {
  if (value === 'file') return 'file:_files';
  if (value === 'folder') return 'folder:_files -/';
  return typeof value === 'string' ? 'value: ' : `value:(${value.join(' ')})`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
