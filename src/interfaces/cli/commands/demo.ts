import { isBusy } from '../../../domain/text/errors.ts';
import type { OutcomeKind, Session } from '../../../domain/run/session.ts';
import { exitCodes, type CommandContext, type CommandFunction, type ServedApi } from '../context/context.ts';
import { printLines, isLive, styleFor } from '../render/print.ts';
import type { ServiceEvent } from '../../../domain/run/event.ts';
import { printable, printableJson } from '../../../domain/text/printable.ts';
import { describeEvent, writeEventLines } from '../render/events.ts';
import { containerColumns } from '../render/container-table.ts';
import { showLiveTable, type LiveTable } from '../render/live-table.ts';
import { outcomeWording } from '../context/wording.ts';
import type { Style } from '../terminal/style.ts';
import { tableLines, wrapText } from '../terminal/table.ts';

type DemoEnvironment = {
  /** Publishes the releases of the next round and describes them, one line each. */
  readonly nextRound: () => readonly string[];
  readonly countContainers: () => { readonly containers: number; readonly running: number };
};

/** `upkeep demo`: the real service, in a simulated environment with new releases in every round. */
export function createDemo(stage: DemoEnvironment): CommandFunction {
  return async (context) => {
    const { settings, serve } = context;
    const { rounds = Number.POSITIVE_INFINITY } = settings.run;
    const teller = createDemoOutput(context);
    const sessions: Session[] = [];
    let played = 0;
    const api = await serve?.();
    if (settings.run.pageOnly && api !== undefined) printLines(context.terminal.out, [pageLine(api)]);
    teller.introduce([...(api === undefined ? [] : apiLines(api)), ...introduction]);
    try {
      while (played < rounds && (await isTimeForMore(context, played))) {
        played += 1;
        teller.round(played, stage.nextRound());
        const session = await playRound(context);
        if (session === undefined && !context.signal.aborted)
          teller.skip('An update requested over the API is under way; these releases wait for the next round');
        if (session !== undefined) sessions.push(session);
      }
    } finally {
      teller.conclude(conclusionOf(played, sessions, stage));
      await api?.stop();
    }
    return exitCodes.done;
  };
}

/**
 * Undefined when a client of the API has an update under way, or after a stop. The releases remain for the next round.
 */
async function playRound({ application, signal }: CommandContext): Promise<Session | undefined> {
  try {
    return await application.update({ images: [], containers: [], trigger: 'schedule' }, signal);
  } catch (error) {
    if (signal.aborted || isBusy(error)) return undefined;
    throw error;
  }
}

const introduction = [
  'This is Upkeep on an engine in memory: it touches no real container and no network.',
  'A home server gets new releases, some of them bad. Watch what is updated, what comes back, and why.',
  'Ctrl-C ends it. Also: upkeep demo --page; upkeep demo | cat; on a real engine: upkeep check.',
  '',
];

/** The line with the link. */
function pageLine({ address, page = address, tokens: { api, events } }: ServedApi): string {
  const other = events === api ? '' : ` and the events token ${events}`;
  return `${page}  sign in with the token ${api}${other}`;
}

function apiLines({ address, page = address, tokens: { api, events } }: ServedApi): readonly string[] {
  return [
    `Page: ${page}`,
    `API token: ${api}, events token: ${events}`,
    `For instance: curl -H "Authorization: Bearer ${api}" ${address}/v1/containers`,
    '',
  ];
}

/** Time to read the result of the round. */
const pauseMs = 3000;

async function isTimeForMore({ clock, signal }: CommandContext, played: number): Promise<boolean> {
  await clock.sleep(played === 0 ? 500 : pauseMs, signal).catch(() => undefined);
  return !signal.aborted;
}

function conclusionOf(played: number, sessions: readonly Session[], stage: DemoEnvironment): string {
  const outcomes = sessions.flatMap(({ containers }) => containers.map(({ outcome }) => outcome));
  const count = (...kinds: readonly OutcomeKind[]) => outcomes.filter((outcome) => kinds.includes(outcome)).length;
  const { containers, running } = stage.countContainers();
  const done = `Rounds: ${played}; replaced: ${count('updated', 'restarted')}; rolled back: ${count('rolled_back')}; failed: ${count('failed')}`;
  return `${done}; ${running} of ${containers} containers are running`;
}

type DemoOutput = {
  readonly introduce: (lines: readonly string[]) => void;
  readonly round: (number: number, stories: readonly string[]) => void;
  /** Reports why this round does nothing. */
  readonly skip: (reason: string) => void;
  readonly conclude: (text: string) => void;
};

/**
 * A live table on a terminal, lines in a pipe, one JSON object per line for machines. With `--page-only` only the
 * page's address.
 */
function createDemoOutput(context: CommandContext): DemoOutput {
  if (context.settings.run.pageOnly) return silentTeller;
  if (context.settings.output.json) return jsonTeller(context);
  return isLive(context.terminal, context.settings) ? liveTeller(context) : lineTeller(context);
}

/** Events stay above the table, line by line. The last state of the table stays too. */
function liveTeller({ application, settings, terminal, clock }: CommandContext): DemoOutput {
  const style = styleFor(terminal.out, settings);
  let table: LiveTable | undefined;
  let stopListening = () => {};
  return {
    introduce: (lines) => {
      printLines(terminal.out, lines);
      table = showLiveTable(application, { terminal, clock, style, isSeparate: true });
      stopListening = application.subscribe((event) => {
        printLines(terminal.out, linesOf(event, style, terminal.out.columns()));
      });
    },
    round: (number, stories) => {
      printLines(terminal.out, [style.bold(`Round ${number}`), ...stories.map((story) => `  ${style.grey(story)}`)]);
    },
    skip: (reason) => printLines(terminal.out, [`  ${reason}`]),
    conclude: (text) => {
      stopListening();
      table?.end();
      const lines = tableLines(terminal.out, { columns: containerColumns, rows: table?.rows() ?? [] }, style);
      printLines(terminal.out, ['', ...lines, '', text]);
    },
  };
}

/** The result for a container, with the last log lines of a version that failed. Empty if the table shows all of it. */
function linesOf(event: ServiceEvent, style: Style, columns: number): readonly string[] {
  const paragraph = (indent: string, text: string) =>
    wrapText(text, Math.max(1, columns - indent.length - 1)).map((line) => `${indent}${line}`);
  const message = paragraph('  ', describeEvent(event)?.message ?? '');
  if (event.kind === 'container_checked') return event.status === 'unknown' ? message.map(style.red) : [];
  if (!('outcome' in event) || event.outcome.outcome === 'fresh') return [];
  const { outcome, log = '' } = event.outcome;
  const lastLines = log === '' ? [] : log.trimEnd().split('\n').slice(-2);
  const quotes = lastLines.flatMap((line) => paragraph('    ', printable(line, maxLine)));
  return [...message.map(style[outcomeWording[outcome].style]), ...quotes.map(style.grey)];
}

const maxLine = 200;

const silentTeller: DemoOutput = { introduce: () => {}, round: () => {}, skip: () => {}, conclude: () => {} };

function lineTeller({ application, terminal }: CommandContext): DemoOutput {
  const { out } = terminal;
  const stop = writeEventLines(application, out);
  return {
    introduce: (lines) => printLines(out, lines),
    round: (number, stories) => printLines(out, [`Round ${number}`, ...stories.map((story) => `  ${story}`)]),
    skip: (reason) => printLines(out, [`  ${reason}`]),
    conclude: (text) => {
      stop();
      printLines(out, ['', text]);
    },
  };
}

function jsonTeller({ application, terminal }: CommandContext): DemoOutput {
  const write = (document: object) => terminal.out.write(`${printableJson(JSON.stringify(document))}\n`);
  const stop = application.subscribe((event) => {
    const announcement = describeEvent(event);
    if (announcement !== undefined) write({ ...announcement.fields, message: announcement.message });
  });
  return {
    introduce: (lines) => write({ event: 'demo_started', message: lines.join(' ').trim() }),
    round: (number, stories) => write({ event: 'releases_published', round: number, releases: stories }),
    skip: (reason) => write({ event: 'round_skipped', message: reason }),
    conclude: (text) => {
      stop();
      write({ event: 'demo_ended', message: text });
    },
  };
}
