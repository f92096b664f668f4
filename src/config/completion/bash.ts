import { type CompletedCommand, type CompletedFlag, listContainers } from './completed-command.ts';

/** Script for `source <(upkeep completion bash)`: https://www.gnu.org/software/bash/manual/html_node/Programmable-Completion.html */
export function bashScript(commands: readonly CompletedCommand[]): string {
  const names = commands.map(({ name }) => name);
  return `# bash completion for upkeep
_upkeep() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} command= word flags= operands=
  COMPREPLY=()
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case $word in
      ${names.join('|')}) command=$word; break ;;
    esac
  done
  if [[ -z $command && $cur != -* ]]; then
    COMPREPLY=($(compgen -W "${[...names, 'help', 'version'].join(' ')}" -- "$cur"))
    return
  fi
  case $prev in
${valueCases(commands)}
  esac
  case $command in
${commands.map(commandCase).join('\n')}
    *) flags="--help --version" ;;
  esac
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$cur"))
  else
    [[ $operands == containers ]] && operands=$(${listContainers})
    COMPREPLY=($(compgen -W "$operands" -- "$cur"))
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

/** One case for each flag with a value; the same flag means the same with every command. */
function valueCases(commands: readonly CompletedCommand[]): string {
  const flags = new Map(commands.flatMap((command) => command.flags.map((flag) => [flag.name, flag] as const)));
  return [...flags.values()]
    .filter(({ value }) => value !== 'none')
    .map((flag) => `    ${spellingsOf(flag)}) ${actionOf(flag)}return ;;`)
    .join('\n');
}

function spellingsOf({ name, short }: CompletedFlag): string {
  return short === undefined ? `--${name}` : `--${name}|-${short}`;
}

function actionOf({ value }: CompletedFlag): string {
  if (value === 'file') return 'COMPREPLY=($(compgen -f -- "$cur")); ';
  if (value === 'folder') return 'COMPREPLY=($(compgen -d -- "$cur")); ';
  return typeof value === 'string' ? '' : `COMPREPLY=($(compgen -W "${value.join(' ')}" -- "$cur")); `;
}
