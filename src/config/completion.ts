import { quoted as quotedText } from '../domain/text/printable.ts';
import { commands, type CommandName } from './table/commands.ts';
import { takesOption, type Option } from './table/option.ts';
import { optionEntries } from './table/options.ts';

type Completion =
  | { readonly kind: 'script'; readonly text: string }
  /** `message` is "Cannot …: why", with the remedy. */
  | { readonly kind: 'refused'; readonly message: string };

/** The script of `upkeep completion SHELL`, made from the table of options. */
export function completionFor(operands: readonly string[]): Completion {
  const [shell = ''] = operands;
  if (operands.length === 1 && isShell(shell)) return { kind: 'script', text: scripts[shell](completedCommands()) };
  const what =
    operands.length === 0 ? 'no shell is named' : `${quotedText(operands.join(' '))} is not a supported shell`;
  return { kind: 'refused', message: `Cannot print a completion script: ${what}; name one of ${shells.join(', ')}` };
}

const scripts: Readonly<Record<Shell, (commands: readonly CompletedCommand[]) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

function isShell(text: string): text is Shell {
  return Object.hasOwn(scripts, text);
}

type CompletedCommand = {
  readonly name: string;
  readonly summary: string;
  readonly flags: readonly CompletedFlag[];
  /** Completion of the arguments after the flags: container names, these words, or none. */
  readonly operands: 'containers' | readonly string[];
};

type CompletedFlag = {
  /** Without dashes. */
  readonly name: string;
  readonly short: string | undefined;
  readonly meaning: string;
  /** Kind of the flag's value; `text` cannot be completed. */
  readonly value: 'none' | 'text' | 'file' | 'folder' | readonly string[];
};

const shells = ['bash', 'zsh', 'fish'] as const;

type Shell = (typeof shells)[number];

/**
 * Prints container names, one per line, for the shell's own completion. Empty without a client. A lying engine can
 * send any text, and a shell executes some of it; names of containers have these characters only.
 */
const listContainers = `{ docker ps -a --format '{{.Names}}' || podman ps -a --format '{{.Names}}'; } 2>/dev/null | LC_ALL=C grep -E '^[a-zA-Z0-9][a-zA-Z0-9_.-]*$'`;

/** All commands with their options, without deprecated options and options without an effect. */
function completedCommands(): readonly CompletedCommand[] {
  const completed = commands.map(({ name, summary, usage, ...command }): CompletedCommand => ({
    name,
    summary,
    flags: [
      ...optionEntries.flatMap(([, option]) => (takesOption(name, option) ? flagOf(option) : [])),
      help,
      ...(name === withoutName ? [version] : []),
    ],
    operands: 'operands' in command ? command.operands : usage !== '' ? 'containers' : [],
  }));
  return [
    ...completed,
    { name: 'help', summary: 'list the options of a command', flags: [], operands: commands.map(({ name }) => name) },
    { name: 'version', summary: 'print the version', flags: [], operands: [] },
  ];
}

/** The command of a line without the name of a command. */
const withoutName: CommandName = 'run';

const help: CompletedFlag = { name: 'help', short: 'h', meaning: 'List the options', value: 'none' };
const version: CompletedFlag = { name: 'version', short: 'V', meaning: 'Print the version', value: 'none' };

/** The flags with a value, of all commands. The same flag means the same with every command. */
function flagsWithValue(completed: readonly CompletedCommand[]): readonly CompletedFlag[] {
  const flags = new Map(completed.flatMap((command) => command.flags.map((flag) => [flag.name, flag] as const)));
  return [...flags.values()].filter(({ value }) => value !== 'none');
}

/** `--stop-timeout`, `-t` */
function spellingsOf({ name, short }: CompletedFlag): readonly string[] {
  return short === undefined ? [`--${name}`] : [`--${name}`, `-${short}`];
}

function flagOf(option: Option): readonly CompletedFlag[] {
  const { flag, short, withoutEffect, deprecated } = option;
  if (flag === undefined || withoutEffect !== undefined || deprecated !== undefined) return [];
  const [meaning = ''] = option.meaning.split(/[:;.] /);
  return [{ name: flag, short, meaning, value: valueOf(option) }];
}

function valueOf(option: Option): CompletedFlag['value'] {
  if (option.kind === 'boolean') return 'none';
  if (option.kind === 'choice') return option.choices;
  if (option.placeholder === 'FILE') return 'file';
  return option.placeholder === 'FOLDER' ? 'folder' : 'text';
}

/** Script for `source <(upkeep completion bash)`: https://www.gnu.org/software/bash/manual/html_node/Programmable-Completion.html */
function bashScript(commands: readonly CompletedCommand[]): string {
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

/** Script for `source <(upkeep completion zsh)`: https://zsh.sourceforge.io/Doc/Release/Completion-System.html */
function zshScript(commands: readonly CompletedCommand[]): string {
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
${commands.map(zshCommandCase).join('\n')}
  esac
}
compdef _upkeep upkeep
`;
}

function zshCommandCase({ name, flags, operands }: CompletedCommand): string {
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
  const after = value === 'none' ? '' : `:${zshActionOf(value)}`;
  const long = quoted(`--${name}${value === 'none' ? '' : '='}${text}${after}`);
  return short === undefined ? [long] : [long, quoted(`-${short}${value === 'none' ? '' : '+'}${text}${after}`)];
}

function zshActionOf(value: Exclude<CompletedFlag['value'], 'none'>): string {
  if (value === 'file') return 'file:_files';
  if (value === 'folder') return 'folder:_files -/';
  return typeof value === 'string' ? 'value: ' : `value:(${value.join(' ')})`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** Script for `upkeep completion fish | source`: https://fishshell.com/docs/current/completions.html */
function fishScript(commands: readonly CompletedCommand[]): string {
  return [
    '# fish completion for upkeep',
    commandTest(commands),
    'complete -c upkeep -f',
    ...commands.map(
      ({ name, summary }) => `complete -c upkeep -n '__upkeep_command_is ""' -a ${name} -d ${fishQuoted(summary)}`,
    ),
    ...commands.flatMap(({ name, flags, operands }) => {
      const where = `complete -c upkeep -n '__upkeep_command_is ${name}'`;
      const whereFlags = name === withoutName ? `complete -c upkeep -n '__upkeep_command_is ${name} ""'` : where;
      return [
        ...flags.map((flag) => `${whereFlags} ${flagWords(flag)}`),
        ...(operands === 'containers' ? [`${where} -a ${fishQuoted(`(${containersInFish})`)}`] : []),
        ...(operands !== 'containers' && operands.length > 0 ? [`${where} -a ${fishQuoted(operands.join(' '))}`] : []),
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
  return `-l ${name}${letters} -d ${fishQuoted(meaning)}${valueWords(value)}`;
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
      return ` -xa ${fishQuoted(value.join(' '))}`;
  }
}

function fishQuoted(text: string): string {
  return `'${text.replaceAll(/['\\]/g, String.raw`\$&`)}'`;
}
