import { execute } from './execute.ts';
import { describeFault, TemplateError } from './values/fault.ts';
import { functionNames } from './functions/table.ts';
import { createMeter, createSink, defaultLimits, type RenderLimits } from './values/limits.ts';
import { parseTree, type Tree } from './syntax/parse.ts';
import { Moment } from './time/moment.ts';
import type { Value } from './values/value.ts';

/** A parsed template, for `renderTemplate`. */
export type Template = { readonly text: string; readonly tree: Tree };

/** `reason`: a sentence for users with line and column. */
export type TemplateFailure = { readonly kind: 'failed'; readonly reason: string };

export type RenderOptions = {
  readonly limits?: RenderLimits;
  /** The time of `now`, and the zone of times; absent: Go's zero time, UTC. */
  readonly now?: Moment;
};

/** In UTF-16 units. Templates in use have fewer than 4000. */
export const longestTemplate = 65_536;

/** Parses a template in the subset of https://pkg.go.dev/text/template that `docs/notification-templates.md` describes. */
export function parseTemplate(
  text: string,
): { readonly kind: 'template'; readonly template: Template } | TemplateFailure {
  if (text.length > longestTemplate) {
    return { kind: 'failed', reason: `Cannot render the template: it is longer than ${longestTemplate} characters` };
  }
  try {
    return { kind: 'template', template: { text, tree: parseTree(text, functionNames) } };
  } catch (error) {
    return failure(text, error, 0);
  }
}

/** Renders the template with data. An error shows only the types of the data. The limits bound its time. */
export function renderTemplate(
  { text, tree }: Template,
  data: Value,
  { limits = defaultLimits, now = zeroMoment }: RenderOptions = {},
): { readonly kind: 'text'; readonly text: string } | TemplateFailure {
  const meter = createMeter(limits);
  const out = createSink(meter, limits.outputLength);
  const context = { meter, now, createSink: () => createSink(meter, limits.outputLength) };
  const state = { at: 0, variables: [{ name: '$', value: data }], meter, context };
  try {
    execute({ tree, state, out }, data, tree.main);
    return { kind: 'text', text: out.text() };
  } catch (error) {
    return failure(text, error, state.at);
  }
}

const zeroMoment = new Moment(0, 'UTC');

/** Only faults of the template are reported. Any other error is a bug. */
function failure(text: string, error: unknown, at: number): TemplateFailure {
  if (!(error instanceof TemplateError)) throw error;
  return {
    kind: 'failed',
    reason: `Cannot render the template: ${describeFault(text, error.at ?? at, error.message)}`,
  };
}
