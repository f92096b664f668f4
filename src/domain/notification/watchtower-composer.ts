import { mostSevereLevel, isAtLeast, type MessageLevel, type MessageLine } from './message.ts';
import {
  exampleRun,
  exampleStart,
  repairLevels,
  repairSentence,
  type Composer,
  type Draft,
  type RepairFacts,
  type RunFacts,
  type StartFacts,
} from './run-facts.ts';
import { defaultLimits, type Struct, type Value } from './template/values.ts';
import { parseTemplate, renderTemplate, type Template } from './template/render.ts';
import { Moment } from './template/time.ts';
import { logRoot, reportRoot, entriesOf, reportOf, startEntries, type Entry, type Report } from './watchtower-data.ts';

export type WatchtowerTextOptions = TitleOptions & {
  /** Templates get the report of the session. A session without an update also causes a message. */
  readonly report: boolean;
  /** The name of a built-in template, or a template; undefined: the default of the mode. */
  readonly template: string | undefined;
  /** The IANA name of the time zone in messages. */
  readonly timeZone: string;
  /** Called when a template cannot be rendered. The message then has the default text and the reason. */
  readonly onTemplateFailure: (reason: string) => void;
};

/** Messages with the texts and template data of the Watchtower family. A failing template never loses a message. */
export function createWatchtowerComposer(options: WatchtowerTextOptions): Composer {
  const standard = builtIn(options.report ? 'default' : 'default-legacy');
  const samples = [runData(exampleRun(0), 'debug', options), startData(exampleStart(0, '0.0.0'), 'debug', options)];
  const own = readOwnTemplate(options.template, samples.map(dataOf), options.onTemplateFailure);
  const isNamed = builtInTemplates.has(options.template?.trim() ?? '');
  if (own !== undefined && samples.every((content) => renderText(content).text.trim() === '')) {
    const why = options.report ? '' : ': without --notification-report, .Report is empty';
    options.onTemplateFailure(`It says nothing about a run with an update and a failure${why}`);
  }

  function compose(content: MessageData): Draft | undefined {
    const { text, isOwn } = renderText(content);
    if (text.trim() === '') return undefined;
    const level =
      content.report !== undefined && content.report.failed > 0 ? 'error' : mostSevereLevel(content.entries);
    const hasLines = own === undefined && !options.report;
    const lines = hasLines ? linesOf(content.entries, options) : [];
    const urgency = level === 'error' ? 'high' : content.isCalm ? 'low' : undefined;
    const title = messageTitle(options);
    return { title, text, ...(isOwn && { isFromTemplate: isOwn }), level, ...(urgency && { urgency }), lines };
  }

  function renderText(content: MessageData): { readonly text: string; readonly isOwn: boolean } {
    const { data, now } = dataOf(content);
    const result = own?.(data, now);
    if (result?.kind === 'text') return { text: result.text, isOwn: !isNamed };
    const text = render(standard, data, now);
    return { text: result === undefined ? text : `${text.trimEnd()}\n${result.reason}`, isOwn: false };
  }

  function dataOf(content: MessageData): { readonly data: Struct; readonly now: Moment } {
    return { data: rootOf(content, options), now: new Moment(content.atMs, options.timeZone) };
  }

  return {
    start: (facts, least) => compose(startData(facts, least, options)),
    run(facts, least) {
      const content = runData(facts, least, options);
      const isCalm = content.report === undefined || (least === 'error' && content.report.failed === 0);
      return isCalm && content.entries.length === 0 ? undefined : compose(content);
    },
    repairs(facts, least) {
      const content = repairData(facts, least);
      return content.entries.length === 0 ? undefined : compose(content);
    },
  };
}

/** The user's own template. A failure is reported once, and again when its reason has changed. */
type OwnTemplate = (data: Value, now: Moment) => ReturnType<typeof renderTemplate>;

/**
 * Reads the option, a name or a text, and renders the samples to report errors at the start. Undefined without a
 * template.
 */
function readOwnTemplate(
  option: string | undefined,
  samples: readonly { readonly data: Value; readonly now: Moment }[],
  onFailure: (reason: string) => void,
): OwnTemplate | undefined {
  if (option === undefined || option.trim() === '') return undefined;
  const parsed = parseTemplate(builtInTemplates.get(option.trim()) ?? option);
  let lastReason = '';
  const render: OwnTemplate = (data, now) => {
    const result = parsed.kind === 'failed' ? parsed : renderTemplate(parsed.template, data, { now });
    if (result.kind === 'failed' && result.reason !== lastReason) {
      lastReason = result.reason;
      onFailure(result.reason);
    }
    return result;
  };
  for (const { data, now } of samples) if (render(data, now).kind === 'failed') break;
  return render;
}

type MessageData = {
  readonly entries: readonly Entry[];
  readonly report: Report | undefined;
  /** Nothing has changed. */
  readonly isCalm?: boolean;
  readonly atMs: number;
};

function startData(facts: StartFacts, least: MessageLevel, { timeZone }: WatchtowerTextOptions): MessageData {
  return { entries: filtered(startEntries(facts, timeZone), least), report: undefined, atMs: facts.atMs };
}

function runData(facts: RunFacts, least: MessageLevel, options: WatchtowerTextOptions): MessageData {
  const isReported = options.report && facts.purpose === 'update';
  const entries = filtered(entriesOf(facts, options.timeZone), least);
  const isCalm = !facts.containers.some(({ outcome }) => outcome === 'updated' || outcome === 'restarted');
  return { entries, report: isReported ? reportOf(facts, options.timeZone) : undefined, isCalm, atMs: facts.endedAtMs };
}

/** The family has no line for repairs. */
function repairData({ transactions, atMs }: RepairFacts, least: MessageLevel): MessageData {
  const entries = transactions.map((one): Entry => ({
    message: repairSentence(one),
    level: repairLevels[one.result],
    data: {},
    atMs,
  }));
  return { entries: filtered(entries, least), report: undefined, atMs };
}

function builtIn(name: string): Template {
  const parsed = parseTemplate(builtInTemplates.get(name) ?? '');
  if (parsed.kind === 'failed') throw new Error(parsed.reason);
  return parsed.template;
}

function rootOf(content: MessageData, options: WatchtowerTextOptions): Struct {
  const { hostname: host, timeZone, report: isReportMode } = options;
  const parts = { ...content, title: messageTitle(options), host, timeZone };
  return isReportMode ? reportRoot(parts) : logRoot(parts);
}

/** No limits, because a run may have any number of containers. A text that is too long is cut later at a line end. */
const unbounded = { ...defaultLimits, steps: Infinity, outputLength: Infinity };

/** Renders a built-in text. A failure is a bug. */
function render(template: Template, data: Struct, now: Moment): string {
  const result = renderTemplate(template, data, { now, limits: unbounded });
  if (result.kind === 'failed') throw new Error(result.reason);
  return result.text;
}

function filtered(entries: readonly Entry[], least: MessageLevel): readonly Entry[] {
  return entries.filter(({ level }) => isAtLeast(level, least));
}

/** Each line separately, for services that colour it by its level. */
function linesOf(entries: readonly Entry[], options: WatchtowerTextOptions): readonly MessageLine[] {
  const template = builtIn('default-legacy');
  return entries.map((entry) => {
    const content = { entries: [entry], report: undefined, atMs: entry.atMs };
    const text = render(
      template,
      rootOf(content, { ...options, report: false }),
      new Moment(entry.atMs, options.timeZone),
    );
    return { level: entry.level, text, atMs: entry.atMs };
  });
}

/** `[TAG] Watchtower updates on HOST`: users' mail filters match these words. */
function messageTitle({ product, titleTag, hostname, skipTitle }: TitleOptions): string {
  if (skipTitle) return '';
  const where = hostname === '' ? '' : ` on ${hostname}`;
  return `${titleTag === '' ? '' : `[${titleTag}] `}${product}${where}`;
}

/** `hostname`, `titleTag`: empty for none. */
type TitleOptions = {
  readonly product: 'Watchtower updates' | 'Upkeep';
  readonly hostname: string;
  readonly titleTag: string;
  readonly skipTitle: boolean;
};

/** The default templates of the Watchtower family, and its named ones. */
export const builtInTemplates: ReadonlyMap<string, string> = new Map([
  [
    'default',
    `{{- define "line"}}{{println}}- {{.Name}} ({{.ImageName}}): {{end -}}
{{- with .Report -}}
{{len .Scanned}} Scanned, {{len .Updated}} Updated, {{len .Restarted}} Restarted, {{len .Failed}} Failed, {{/**/ -}}
{{len .Fresh}} Fresh, {{len .Skipped}} Skipped
{{- range .Updated}}{{template "line" .}}{{.CurrentImageID.ShortID}} updated to {{.LatestImageID.ShortID}}{{end}}
{{- range .Restarted}}{{template "line" .}}{{.State}}{{end}}
{{- range .Fresh}}{{template "line" .}}{{.State}}{{end}}
{{- range .Skipped}}{{template "line" .}}{{.State}}: {{.Error}}{{end}}
{{- range .Failed}}{{template "line" .}}{{.State}}: {{.Error}}{{end}}
{{- else}}
{{- range .Entries}}{{println .Message}}{{end}}
{{- end -}}`,
  ],
  [
    'default-legacy',
    `{{- define "known"}}{{with .}}{{.}}{{else}}unknown{{end}}{{end -}}
{{- range $place, $entry := . -}}
{{- $message := .Message}}{{$data := .Data -}}
{{- if $place}}{{println}}{{end -}}
{{- if eq $message "Found new image" -}}
Found new image: {{template "known" $data.image}} ({{template "known" $data.new_id}})
{{- else if eq $message "Stopping container" -}}
Stopped stale container: {{template "known" $data.container}} ({{template "known" $data.id}})
{{- else if eq $message "Stopping linked container" -}}
Stopped linked container: {{template "known" $data.container}} ({{template "known" $data.id}})
{{- else if eq $message "Started new container" "Started linked container" -}}
{{$message}}: {{template "known" $data.container}} ({{template "known" $data.new_id}})
{{- else if eq $message "Container updated" -}}
Updated container: {{template "known" $data.container}} ({{template "known" $data.image}}): {{/**/ -}}
{{template "known" $data.old_id}} updated to {{template "known" $data.new_id}}
{{- else if eq $message "Removing image" -}}
Cleaned up old image: {{template "known" $data.image_name}} ({{template "known" $data.image_id}})
{{- else if eq $message "Image is within cooldown period - not eligible for update" -}}
{{template "known" $data.image}} created less than {{template "known" $data.cooldown}} ago - eligible in {{/**/ -}}
{{template "known" $data.eligible_in}} ({{with $data.eligible_at}}{{RFC1123 .}}{{else}}unknown{{end}})
{{- else if eq $message "Image age exceeds cooldown - eligible for update" -}}
{{template "known" $data.image}} created more than {{template "known" $data.cooldown}} ago - eligible for update
{{- else if eq $message "Image creation time unavailable - update check unavailable" -}}
{{template "known" $data.image}} creation time unavailable (cooldown: {{template "known" $data.cooldown}}) - {{/**/ -}}
update check unavailable
{{- else if eq $message "Skipping Watchtower self-update in run-once mode" -}}
Run once mode: Watchtower self-update skipped
{{- else if eq $message "Detected multiple Watchtower instances - initiating cleanup" -}}
Detected {{template "known" $data.count}} Watchtower instances - initiating cleanup
{{- else if eq $message "Successfully removed all excess Watchtower containers" -}}
Successfully removed {{template "known" $data.removed_instances}} old Watchtower container
{{- with $data.removed_instances}}{{if ne . 1}}s{{end}}{{end}}
{{- else if eq $message "Only checking containers in scope" -}}
{{$message}}: {{template "known" $data.scope}}
{{- else if $data -}}
{{$message}} | {{range $key, $value := $data}}{{$key}}={{$value}} {{end}}
{{- else -}}
{{$message}}
{{- end -}}
{{- end -}}`,
  ],
  [
    'porcelain.v1.summary-no-log',
    `{{- if .Report}}{{range .Report.All}}{{.Name}} ({{.ImageName}}): {{.State}}
{{- with .Error}} Error: {{.}}{{end}}{{println}}
{{- else}}no containers matched filter{{end}}
{{- else}}no containers matched filter{{end -}}`,
  ],
  ['json.v1', '{{. | ToJSON}}'],
  ['porcelain.json', '{{.Report | ToPorcelainJSON}}'],
]);
