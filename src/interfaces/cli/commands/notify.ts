import { quoted, printable } from '../../../domain/text/printable.ts';
import { exitCodes, type ReadCommand, type ReadContext } from '../context/context.ts';
import { printLines, printDocument, styleFor, printTable } from '../render/print.ts';
import type { Target, Message } from '../../../domain/notification/message.ts';
import { applyRecords, emptyOutbox, type OutboxRecord, type OutboxEntry } from '../../../domain/notification/outbox.ts';
import {
  exampleRun,
  exampleStart,
  exampleRunWithoutNews,
  type Composer,
  type Draft,
} from '../../../domain/notification/run-facts.ts';
import { toTimestamp } from '../../json/timestamps.ts';
import { ServiceError } from '../../../domain/text/errors.ts';

/** `upkeep notify list|test|preview|upgrade`. */
export function createNotify(open: () => Promise<NotifySetup>): ReadCommand {
  return async (context) => {
    const [action = '', ...names] = context.settings.request.containers;
    const carryOut = Object.hasOwn(actions, action) ? actions[action] : undefined;
    if (carryOut === undefined) {
      const known = Object.keys(actions).join(', ');
      const what =
        action === ''
          ? '"upkeep notify": no action is given'
          : `"upkeep notify ${quoted(action).slice(1)}: there is no such action`;
      printLines(context.terminal.err, [`upkeep: Cannot run ${what}; expected one of ${known}`]);
      return exitCodes.usage;
    }
    return carryOut({ ...context, setup: await open(), names });
  };
}

const actions: Readonly<Record<string, (context: NotifyContext) => Promise<number>>> = { list, test, preview, upgrade };

/** The notification targets of this configuration. */
export type NotifySetup = {
  readonly targets: readonly Target[];
  /** Home Assistants, safe to print. They show containers and get no messages. */
  readonly homeAssistants: readonly string[];
  /** Why URLs, or parts of them, cannot be used; without secrets. */
  readonly problems: readonly string[];
  /** Warnings about URLs that are used nevertheless. */
  readonly warnings: readonly string[];
  readonly composer: Composer;
  /** Why the user's template cannot be used, as far as it was tried. */
  readonly templateFailures: readonly string[];
  /** The unsent messages in --state-dir; empty without that option. */
  readonly outbox: () => Promise<readonly OutboxRecord[]>;
  readonly newId: () => string;
  readonly version: string;
};

type NotifyContext = ReadContext & { readonly setup: NotifySetup; readonly names: readonly string[] };

/** A line for each URL, or part of one, that cannot be used. */
function problemLines({ setup: { problems, warnings } }: NotifyContext): readonly string[] {
  return [...problems, ...warnings].map((problem) => `upkeep: ${problem}`);
}

/** `upkeep notify list`: each target, and with --state-dir its waiting messages. */
async function list(context: NotifyContext): Promise<number> {
  const { setup, settings, terminal } = context;
  const { targets, homeAssistants, problems } = setup;
  const entries = [...applyRecords(emptyOutbox, await setup.outbox()).entries.values()];
  const rows = targets.map((target) => rowOf(target, entries));
  const code = problems.length > 0 ? exitCodes.failed : exitCodes.done;
  if (settings.output.json) {
    const documents = rows.map(({ oldestAtMs, lastFailure, ...row }) => ({
      ...row,
      ...(oldestAtMs !== undefined && { oldest: toTimestamp(oldestAtMs) }),
      ...(lastFailure !== '' && { last_failure: lastFailure }),
    }));
    printDocument(terminal, { targets: documents, home_assistants: homeAssistants, problems });
    return code;
  }
  printLines(terminal.err, problemLines(context));
  if (targets.length === 0 && homeAssistants.length === 0)
    printLines(terminal.out, ['No notification target is configured']);
  else if (targets.length > 0)
    await printTable(
      terminal,
      {
        columns: [
          { title: 'NAME', min: 8, keep: 'start', dropPriority: 0 },
          { title: 'URL', min: 16, keep: 'start', dropPriority: 2 },
          { title: 'WAITING', min: 7, keep: 'start', dropPriority: 1 },
          { title: 'LAST FAILURE', min: 20, keep: 'start', dropPriority: 3 },
        ],
        rows: rows.map(({ name, url, waiting, lastFailure }) => [
          { text: printable(name, 100), style: 'bold' },
          { text: printable(url, 300), style: 'plain' },
          { text: String(waiting), style: waiting > 0 ? 'red' : 'plain' },
          { text: printable(lastFailure, 1000), style: 'red' },
        ]),
      },
      styleFor(terminal.out, settings),
    );
  printLines(
    terminal.out,
    homeAssistants.map((home) => `Containers are shown in Home Assistant: ${printable(home, 300)}`),
  );
  return code;
}

function rowOf({ name, service, shown: url }: Target, entries: readonly OutboxEntry[]) {
  const waiting = entries.filter(({ target }) => target === name);
  const oldestAtMs = waiting[0]?.message.createdAtMs;
  const failed = waiting.find(({ lastFailure }) => lastFailure !== '');
  return { name, service, url, waiting: waiting.length, oldestAtMs, lastFailure: failed?.lastFailure ?? '' };
}

/**
 * `upkeep notify preview`: example messages of a start, a run with every outcome, and a run without news. Fails if the
 * template fails.
 */
async function preview({ setup, settings, terminal, clock }: NotifyContext): Promise<number> {
  const { composer, version, templateFailures } = setup;
  const { level } = settings.notifications;
  const atMs = clock.nowMs();
  const drafts: readonly (readonly [string, Draft | undefined])[] = [
    ['At the start', composer.start(exampleStart(atMs, version), level)],
    ['After an update', composer.run(exampleRun(atMs), level)],
    ['After a run that found nothing new', composer.run(exampleRunWithoutNews(atMs), level)],
  ];
  const code = templateFailures.length === 0 ? exitCodes.done : exitCodes.failed;
  if (settings.output.json) {
    const documents = drafts.map(([when, draft]) => ({
      when,
      message: draft === undefined ? null : documentOf(draft),
    }));
    printDocument(terminal, { messages: documents });
    return code;
  }
  const style = styleFor(terminal.out, settings);
  for (const [when, draft] of drafts) {
    printLines(terminal.out, [style.grey(`--- ${when} ---`)]);
    if (draft === undefined || draft.text === '') printLines(terminal.out, ['Nothing is sent']);
    else printLines(terminal.out, [...titleLines(draft, style.bold), ...shown(draft.text)]);
  }
  return code;
}

function documentOf({ title, text, markdown, level }: Draft) {
  return { title, text, ...(markdown !== undefined && { markdown }), level };
}

function titleLines({ title }: Draft, bold: (text: string) => string): readonly string[] {
  return title === '' ? [] : [bold(printable(title, 500)), ''];
}

function shown(text: string): readonly string[] {
  return text.split('\n').map((line) => printable(line, 10_000));
}

/** `upkeep notify test`: sends a real message to each target once, and shows the answers of the services. */
async function test(context: NotifyContext): Promise<number> {
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

/** `upkeep notify upgrade`: the URLs that replace deprecated options, complete with their secrets, one per line. */
async function upgrade(context: NotifyContext): Promise<number> {
  const { settings, terminal } = context;
  const { legacyUrls: urls } = settings.notifications;
  if (settings.output.json) {
    printDocument(terminal, { urls });
    return exitCodes.done;
  }
  printLines(terminal.err, problemLines(context));
  if (urls.length === 0) {
    printLines(terminal.err, ['Nothing to convert: neither --notifications nor its variable names a kind']);
    return exitCodes.done;
  }
  printLines(terminal.err, [
    'Give these in UPKEEP_NOTIFICATION_URL, or in a file that it names, instead of the deprecated options. They contain secrets.',
  ]);
  printLines(terminal.out, urls);
  return exitCodes.done;
}
