import {
  type CompletedCommand,
  type CompletedFlag,
  flagsWithValue,
  listContainers,
  spellingsOf,
  withoutName,
} from './completed-command.ts';

/** Script for `source <(upkeep completion bash)`: https://www.gnu.org/software/bash/manual/html_node/Programmable-Completion.html */
export function bashScript(commands: readonly CompletedCommand[]): string {
  const names = commands.map(({ name }) => name);
  const withValue = flagsWithValue(commands);
  return `# bash completion for upkeep
_upkeep() {
  local words cur option= command= word flags= operands=
  # COMP_WORDS is also split at = and :
  read -ra words <<< "\${COMP_LINE:0:COMP_POINT}."
  cur=\${words[\${#words[@]}-1]%.}
  COMPREPLY=()
  for word in "\${words[@]:1:\${#words[@]}-2}"; do
    if [[ -n $option ]]; then
      option=
    elif [[ $word == -* ]]; then
      case $word in
        ${withValue.flatMap(spellingsOf).join('|')}) option=$word ;;
      esac
    elif [[ -z $command ]]; then
      case $word in
        ${names.join('|')}) command=$word ;;
        *) command=${withoutName} ;;
      esac
    fi
  done
  if [[ -z $option && $cur == --*=* ]]; then
    option=\${cur%%=*}
    cur=\${cur#*=}
  fi
  case $option in
${withValue.map((flag) => `    ${spellingsOf(flag).join('|')}) ${actionOf(flag)}return ;;`).join('\n')}
    ?*) return ;;
  esac
  if [[ -z $command && $cur != -* ]]; then
    COMPREPLY=($(compgen -W "${names.join(' ')}" -- "$cur"))
    return
  fi
  case \${command:-${withoutName}} in
${commands.map(commandCase).join('\n')}
  esac
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$cur"))
  else
    # compgen -W would execute names
    if [[ $operands == containers ]]; then
      while IFS= read -r word; do
        [[ $word == "$cur"* ]] && COMPREPLY+=("$word")
      done < <(${listContainers})
    else
      COMPREPLY=($(compgen -W "$operands" -- "$cur"))
    fi
  fi
}
complete -F _upkeep upkeep
`;
}

function commandCase({ name, flags, operands }: CompletedCommand): string {
  const words = flags.map((flag) => `--${flag.name}`).join(' ');
  const rest = operands === 'containers' ? operands : operands.join(' ');
  return `    ${name}) flags="${words}" operands="${rest}" ;;`;
}

function actionOf({ value }: CompletedFlag): string {
  if (value === 'file') return 'COMPREPLY=($(compgen -f -- "$cur")); ';
  if (value === 'folder') return 'COMPREPLY=($(compgen -d -- "$cur")); ';
  return typeof value === 'string' ? '' : `COMPREPLY=($(compgen -W "${value.join(' ')}" -- "$cur")); `;
}
