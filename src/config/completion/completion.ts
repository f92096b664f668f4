import { quoted as quotedText } from '../../domain/text/printable.ts';
import { bashScript } from './bash.ts';
import { type CompletedCommand, completedCommands, type Shell, shells } from './completed-command.ts';
import { fishScript } from './fish.ts';
import { zshScript } from './zsh.ts';

export type Completion =
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
