import { booleanValue } from '../../domain/settings/values/label-values.ts';
import { formatDuration, parseDuration } from '../../domain/text/duration.ts';
import { splitUrls } from '../../domain/notification/message.ts';
import type { DurationOption, IntegerOption, ListOption, ParsedOption } from '../../domain/settings/table/option.ts';
import type { Option } from '../declaration/option.ts';

/** A value of the option's kind, or a text for the accepted values. */
export type Parsed = { readonly kind: 'value'; readonly value: unknown } | Refusal;

type Refusal = { readonly kind: 'refused'; readonly expected: string };

/** Parses the texts of an option. Lists use all of them, every other kind the last one. */
export function parseValue(option: Option, texts: readonly string[]): Parsed {
  const text = texts.at(-1) ?? '';
  switch (option.kind) {
    case 'boolean':
      return parseBoolean(text);
    case 'integer':
      return parseInteger(option, text);
    case 'duration':
      return parseDurationOption(option, text);
    case 'list':
      return checked(option, parseList(option.separators, texts));
    case 'choice':
      return parseChoice(option.choices, option.aliases ?? {}, text);
    case 'parsed':
      return parseOwnGrammar(option, option.isList === true ? texts.join(',') : text);
    case 'text':
      return option.accepts === undefined || option.accepts.test(text) ? value(text) : refused(option.accepts.expected);
  }
}

function parseOwnGrammar({ value: { parse, accepted } }: ParsedOption<unknown>, text: string): Parsed {
  const read = parse(text.trim());
  return read === undefined ? refused(accepted) : value(read);
}

function parseBoolean(text: string): Parsed {
  const read = booleanValue.parse(text.trim());
  return read === undefined ? refused('true or false (also 1, t, yes, on, 0, f, no, off)') : value(read);
}

function parseInteger({ min, max }: IntegerOption, text: string): Parsed {
  const trimmed = text.trim();
  const number = /^[+-]?\d{1,15}$/.test(trimmed) ? Number(trimmed) : Number.NaN;
  return number >= min && number <= max ? value(number) : refused(`a whole number from ${min} to ${max}`);
}

function parseDurationOption({ minMs, maxMs, months = false }: DurationOption, text: string): Parsed {
  const ms = parseDuration(text, { bareUnit: 's', months });
  if (ms !== undefined && ms >= minMs && ms <= maxMs) return value(ms);
  const range = ms === undefined ? '' : ` between ${formatDuration(minMs)} and ${formatDuration(maxMs)}`;
  return refused(`a duration${range} such as 90s, 1m30s or 2h (a bare number counts seconds)`);
}

function parseList(separators: ListOption['separators'], texts: readonly string[]): readonly string[] {
  if (separators === 'url') return texts.flatMap(splitUrls);
  const separator = separators === 'comma' ? ',' : /[\s,]+/;
  return texts
    .flatMap((text) => text.split(separator))
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

/** More than any configuration needs. Each item is compared with every container. */
const mostItems = 1000;

function checked(option: Option & { kind: 'list' }, items: readonly string[]): Parsed {
  const { accepts, atMost = mostItems, needsItem = false } = option;
  if (needsItem && items.length === 0) return refused(accepts?.expected ?? 'a value');
  if (items.length > atMost) return refused(`at most ${atMost} items`);
  return accepts === undefined || items.every(accepts.test) ? value(items) : refused(accepts.expected);
}

function parseChoice(choices: readonly string[], aliases: Readonly<Record<string, string>>, text: string): Parsed {
  const key = text.trim().toLowerCase();
  const choice = Object.hasOwn(aliases, key) ? aliases[key] : key;
  return choice !== undefined && choices.includes(choice) ? value(choice) : refused(`one of ${choices.join(', ')}`);
}

function value(of: unknown): Parsed {
  return { kind: 'value', value: of };
}

function refused(expected: string): Refusal {
  return { kind: 'refused', expected };
}
