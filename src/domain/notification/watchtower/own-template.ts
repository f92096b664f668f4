import { parseTemplate, renderTemplate, type TemplateFailure } from '../template/render.ts';
import type { Moment } from '../template/time/moment.ts';
import type { Value } from '../template/values/value.ts';
import { builtInTemplates } from './templates.ts';

/** The user's own template. A failure is reported once, and again when its reason has changed. */
export type OwnTemplate = (
  data: Value,
  now: Moment,
) => { readonly kind: 'text'; readonly text: string } | TemplateFailure;

/**
 * Reads the option, a name or a text, and tries it on samples, so that errors show at the start. Undefined without a
 * template.
 */
export function readOwnTemplate(
  option: string | undefined,
  samples: readonly { readonly data: Value; readonly now: Moment }[],
  onFailure: (reason: string) => void,
): OwnTemplate | undefined {
  if (option === undefined || option.trim() === '') return undefined;
  const parsed = parseTemplate(builtInTemplates.get(option.trim()) ?? option);
  let told = '';
  const render: OwnTemplate = (data, now) => {
    const result = parsed.kind === 'failed' ? parsed : renderTemplate(parsed.template, data, { now });
    if (result.kind === 'failed' && result.reason !== told) {
      told = result.reason;
      onFailure(result.reason);
    }
    return result;
  };
  for (const { data, now } of samples) if (render(data, now).kind === 'failed') break;
  return render;
}
