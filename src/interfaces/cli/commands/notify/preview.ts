import type { NotifyContext } from './notify-context.ts';
import { printable } from '../../../../domain/text/printable.ts';
import {
  exampleRun,
  exampleStart,
  exampleRunWithoutNews,
  type Draft,
} from '../../../../domain/notification/run-facts.ts';
import { exitCodes } from '../../context/context.ts';
import { printDocument, printLines, styleFor } from '../../render/print.ts';

/**
 * `upkeep notify preview`: example messages of a start, a run with every outcome, and a run without news. Fails if the
 * template fails.
 */
export async function preview({ setup, settings, terminal, clock }: NotifyContext): Promise<number> {
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
