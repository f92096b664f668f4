import { printableJson } from '../../../domain/text/printable.ts';
import { announce } from '../render/announcement.ts';
import { containerColumns } from '../render/container-table.ts';
import type { CommandContext } from '../context/context.ts';
import { type LiveTable, showLiveTable } from '../render/live-table.ts';
import { isWatched, printLines, printTable, styleFor } from '../render/print.ts';
import { writeEventLines } from '../render/progress.ts';

/** How the demonstration is told. */
export type DemoTeller = {
  readonly introduce: (lines: readonly string[]) => void;
  readonly round: (number: number, stories: readonly string[]) => void;
  /** Why nothing is done in this round. */
  readonly skip: (reason: string) => void;
  readonly conclude: (text: string) => void;
};

/** A live table on a terminal, lines in a pipe, one JSON object per line for machines. */
export function createDemoTeller(context: CommandContext): DemoTeller {
  if (context.settings.output.json) return jsonTeller(context);
  return isWatched(context.terminal, context.settings) ? liveTeller(context) : lineTeller(context);
}

/** The last state of the table stays on the screen. */
function liveTeller({ application, settings, terminal, clock }: CommandContext): DemoTeller {
  const style = styleFor(terminal.out, settings);
  let headline: readonly string[] = [];
  let table: LiveTable | undefined;
  return {
    introduce: (lines) => {
      printLines(terminal.out, lines);
      table = showLiveTable(application, { terminal, clock, style, above: () => headline });
    },
    round: (number, stories) => {
      headline = [`Round ${number}`, ...stories.map((story) => `  ${story}`), ''];
    },
    skip: (reason) => {
      headline = [...headline.slice(0, -1), `  ${reason}`, ''];
    },
    conclude: (text) => {
      table?.end();
      printTable(terminal, { columns: containerColumns, rows: table?.rows() ?? [] }, style);
      printLines(terminal.out, ['', text]);
    },
  };
}

function lineTeller({ application, terminal }: CommandContext): DemoTeller {
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

function jsonTeller({ application, terminal }: CommandContext): DemoTeller {
  const write = (document: object) => terminal.out.write(`${printableJson(JSON.stringify(document))}\n`);
  const stop = application.subscribe((event) => {
    const announcement = announce(event);
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
