import type { NotifyContext } from './notify-context.ts';
import type { Message, Target } from '../../../../domain/notification/message.ts';
import { printable } from '../../../../domain/text/printable.ts';
import { exitCodes } from '../../context/context.ts';
import { printDocument, printLines, styleFor } from '../../render/print.ts';
import { chosenTargets, problemLines } from './chosen-targets.ts';

/** `upkeep notify test`: sends a real message to each target once, and shows the answers of the services. */
export async function test(context: NotifyContext): Promise<number> {
  const { settings, terminal, signal, setup } = context;
  printLines(terminal.err, problemLines(context));
  const targets = chosenTargets(context);
  const message = testMessage(context);
  const results = await Promise.all(
    targets.map(async (target) => resultOf(target, await target.send(message, signal))),
  );
  const style = styleFor(terminal.out, settings);
  if (settings.output.json) printDocument(terminal, { targets: results });
  else
    printLines(
      terminal.out,
      results.map(({ name, sent, answer }) => {
        const said = printable(answer, 1000);
        return `${printable(name, 100)}: ${sent ? style.green('sent') : style.red('not sent')}${said === '' ? '' : `: ${said}`}`;
      }),
    );
  const isWell = setup.problems.length === 0 && results.every(({ sent }) => sent);
  return isWell ? exitCodes.done : exitCodes.failed;
}

function resultOf({ name, service }: Target, outcome: Awaited<ReturnType<Target['send']>>) {
  return outcome.kind === 'sent'
    ? { name, service, sent: true, answer: outcome.answer }
    : { name, service, sent: false, failure: outcome.failure, answer: outcome.reason };
}

function testMessage({ clock, setup, settings }: NotifyContext): Message {
  const atMs = clock.nowMs();
  const host = settings.notifications.hostname;
  const text = `A test of Upkeep ${setup.version}${host === undefined ? '' : ` on ${host}`}: notifications arrive here`;
  return {
    id: setup.newId(),
    title: settings.notifications.skipTitle ? '' : 'Upkeep: test',
    text,
    markdown: `A test of **Upkeep ${setup.version}**${host === undefined ? '' : ' on this host'}: notifications arrive here`,
    level: 'info',
    lines: [{ level: 'info', text, atMs }],
    createdAtMs: atMs,
    isRepeat: false,
  };
}
