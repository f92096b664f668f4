import type { ServiceEvent } from '../../../domain/run/event.ts';
import { printable, printableJson } from '../../../domain/text/printable.ts';
import { describeEvent } from '../render/event-description.ts';
import { containerColumns } from '../render/container-table.ts';
import type { CommandContext } from '../context/context.ts';
import { type LiveTable, showLiveTable } from '../render/live-table.ts';
import { isLive, printLines, styleFor } from '../render/print.ts';
import { writeEventLines } from '../render/progress.ts';
import { outcomeWording } from '../words/wording.ts';
import type { Style } from '../terminal/style.ts';
import { tableLines } from '../terminal/table.ts';
import { wrapText } from '../terminal/width.ts';

export type DemoOutput = {
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
export function createDemoOutput(context: CommandContext): DemoOutput {
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
  const quotes = lastLines.flatMap((line) => paragraph('    ', printable(line, longestLine)));
  return [...message.map(style[outcomeWording[outcome].style]), ...quotes.map(style.grey)];
}

const longestLine = 200;

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
