import { printValue } from '../../domain/settings/values/label-values.ts';
import { formatDuration } from '../../domain/text/duration.ts';
import type { Option } from './option.ts';

/** `-t, --stop-timeout DURATION`; empty for an option that only a variable sets. */
export function flagText(option: Option): string {
  if (option.flag === undefined) return '';
  const short = option.short === undefined ? '' : `-${option.short}, `;
  const value = option.kind === 'boolean' ? '' : ` ${placeholderOf(option)}`;
  return `${short}--${option.flag}${value}`;
}

/** The default in the notation of the user. */
export function defaultText(option: Option): string {
  if (option.defaultMeaning !== undefined) return option.defaultMeaning;
  switch (option.kind) {
    case 'duration':
      return option.default === 0 ? 'none' : formatDuration(option.default ?? 0);
    case 'list':
      return option.default.length === 0 ? 'none' : option.default.join(',');
    case 'parsed':
      return printValue(option.value, option.default);
    case 'boolean':
    case 'choice':
    case 'integer':
    case 'text':
      return String(option.default ?? 'none');
  }
}

function placeholderOf(option: Option): string {
  if (option.placeholder !== undefined) return option.placeholder;
  switch (option.kind) {
    case 'duration':
      return 'DURATION';
    case 'integer':
      return 'N';
    case 'choice':
      return option.choices.join('|');
    case 'list':
      return 'ITEM,…';
    case 'boolean':
    case 'parsed':
    case 'text':
      return 'TEXT';
  }
}
