import type { MessageLevel, MessageLine } from '../message.ts';
import type { Composer, Draft } from '../run-facts.ts';
import { parseTemplate, renderTemplate, type Template } from '../template/render.ts';
import { Moment } from '../template/time/moment.ts';
import { logRoot, reportRoot } from './data.ts';
import { entriesOf } from './entries.ts';
import { gravestLevel, isAtLeast } from '../level.ts';
import type { Entry } from './entry.ts';
import { type Report, reportOf } from './report.ts';
import { startEntries } from './start-entries.ts';
import { builtInTemplates } from './templates.ts';
import { type TitleOptions, messageTitle } from './title.ts';

export type WatchtowerTextOptions = TitleOptions & {
  /** Templates get the report of the session, and a session without an update has a message too. */
  readonly report: boolean;
  /** The name of a built-in template, or a template; undefined: the mode's own. */
  readonly template: string | undefined;
  /** Of times in messages: an IANA name. */
  readonly timeZone: string;
  /** Hears of a template that could not be rendered; the message went out in the default text. */
  readonly onTemplateFailure: (reason: string) => void;
};

/** Messages in the words and with the template data of the Watchtower family. A failing template never loses a message. */
export function createWatchtowerComposer(options: WatchtowerTextOptions): Composer {
  const standard = builtIn(options.report ? 'default' : 'default-legacy');
  const own = readOwn(options);

  function compose(said: Said): Draft | undefined {
    const text = say(said);
    if (text.trim() === '') return undefined;
    const level = said.report !== undefined && said.report.failed > 0 ? 'error' : gravestLevel(said.entries);
    const isOwnText = own === undefined && !options.report;
    return { title: messageTitle(options), text, level, lines: isOwnText ? linesOf(said.entries, options) : [] };
  }

  function say(said: Said): string {
    const data = rootOf(said, options);
    const now = new Moment(said.atMs, options.timeZone);
    if (own !== undefined) {
      const result = own.kind === 'failed' ? own : renderTemplate(own.template, data, { now });
      if (result.kind === 'text') return result.text;
      if (own.kind !== 'failed') options.onTemplateFailure(result.reason);
      return `${render(standard, data, now).trimEnd()}\n${result.reason}`;
    }
    return render(standard, data, now);
  }

  return {
    start: (facts, least) =>
      compose({ entries: filtered(startEntries(facts, options.timeZone), least), report: undefined, atMs: facts.atMs }),
    run(facts, least) {
      const entries = filtered(entriesOf(facts), least);
      const isReported = options.report && facts.purpose === 'update';
      const report = isReported ? reportOf(facts) : undefined;
      if (least === 'error' && report !== undefined && report.failed === 0 && entries.length === 0) return undefined;
      if (report === undefined && entries.length === 0) return undefined;
      return compose({ entries, report, atMs: facts.endedAtMs });
    },
  };
}

/** Why the template cannot be used, found by reading it and rendering it on a made-up run; undefined: it can. */
export function templateFault(template: string): string | undefined {
  const parsed = parseTemplate(builtInTemplates.get(template.trim()) ?? template);
  return parsed.kind === 'failed' ? parsed.reason : undefined;
}

type Said = { readonly entries: readonly Entry[]; readonly report: Report | undefined; readonly atMs: number };

type Own = ReturnType<typeof parseTemplate> | undefined;

function readOwn({ template, onTemplateFailure }: WatchtowerTextOptions): Own {
  if (template === undefined || template.trim() === '') return undefined;
  const own = parseTemplate(builtInTemplates.get(template.trim()) ?? template);
  if (own.kind === 'failed') onTemplateFailure(own.reason);
  return own;
}

function builtIn(name: string): Template {
  const parsed = parseTemplate(builtInTemplates.get(name) ?? '');
  if (parsed.kind === 'failed') throw new Error(parsed.reason);
  return parsed.template;
}

function rootOf(said: Said, options: WatchtowerTextOptions) {
  const { hostname: host, timeZone, report: isReportMode } = options;
  const parts = { ...said, title: messageTitle(options), host, timeZone };
  return isReportMode ? reportRoot(parts) : logRoot(parts);
}

/** A built-in text; one that fails is a bug. */
function render(template: Template, data: ReturnType<typeof rootOf>, now: Moment): string {
  const result = renderTemplate(template, data, { now });
  if (result.kind === 'failed') throw new Error(result.reason);
  return result.text;
}

function filtered(entries: readonly Entry[], least: MessageLevel): readonly Entry[] {
  return entries.filter(({ level }) => isAtLeast(level, least));
}

/** Each line by itself, for services that colour it by its level. */
function linesOf(entries: readonly Entry[], options: WatchtowerTextOptions): readonly MessageLine[] {
  const template = builtIn('default-legacy');
  return entries.map((entry) => {
    const said = { entries: [entry], report: undefined, atMs: entry.atMs };
    const text = render(
      template,
      rootOf(said, { ...options, report: false }),
      new Moment(entry.atMs, options.timeZone),
    );
    return { level: entry.level, text, atMs: entry.atMs };
  });
}
