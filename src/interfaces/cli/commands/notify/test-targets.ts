import { type NotifyContext, problemLines } from './notify-context.ts';
import { ServiceError } from '../../../../domain/text/errors.ts';
import type { Message, Target } from '../../../../domain/notification/message.ts';
import { printable, quoted } from '../../../../domain/text/printable.ts';
import { exitCodes } from '../../context/context.ts';
import { printDocument, printLines, styleFor } from '../../render/print.ts';

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

/** The named targets, or all. Throws for an unknown name, and if there are no targets. */
function chosenTargets({ setup: { targets }, names }: NotifyContext): readonly Target[] {
  if (targets.length === 0)
    throw new ServiceError('invalid-input', 'Cannot send a notification: no notification target is configured', {
      remedy: 'Give its URL with --notification-url or in UPKEEP_NOTIFICATION_URL',
    });
  for (const name of names)
    if (!targets.some((target) => isCalled(target, name)))
      throw new ServiceError('invalid-input', `Cannot notify ${quoted(name)}: there is no such target`, {
        remedy: `The targets are ${targets.map((target) => target.name).join(', ')}`,
      });
  return names.length === 0 ? targets : targets.filter((target) => names.some((name) => isCalled(target, name)));
}

function isCalled(target: Target, name: string): boolean {
  return target.name.toLowerCase() === name.toLowerCase();
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
  };
}
