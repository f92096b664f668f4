import { type ApprovalFrom, readApproval } from '../../decision/hold.ts';
import { parseWindows, type Window } from '../../window/window-grammar.ts';
import type { ValueKind } from './label-values.ts';

/**
 * The times at which updates of a container may begin. A label that cannot be read holds updates back, because its
 * owner intended a restriction.
 */
export type WindowSetting =
  | { readonly kind: 'always' }
  | { readonly kind: 'windows'; readonly text: string; readonly windows: readonly Window[] }
  | { readonly kind: 'unreadable'; readonly text: string; readonly fault: string };

/** The kinds of new versions that need approval. */
export const approval: ValueKind<ApprovalFrom> = {
  accepted: 'one of true, false, patch, minor, major',
  parse: (text) => {
    const read = readApproval(text);
    return typeof read === 'string' ? read : undefined;
  },
  print: (from) => (from === 'never' ? 'false' : from === 'digest' ? 'true' : from),
};

/** The same for a label. A label that cannot be read requires approval. */
export const approvalOfLabel: ValueKind<ApprovalFrom> = {
  ...approval,
  parse: (text) => (text === '' ? 'never' : (approval.parse(text) ?? 'digest')),
};

/** The windows of an option. */
export const window: ValueKind<WindowSetting> = {
  accepted: 'windows such as "02:00-05:00" or "Sat,Sun 01:00-06:00; Wed 23:00-02:00", or always',
  parse: (text) => {
    const read = readWindow(text);
    return read.kind === 'unreadable' ? undefined : read;
  },
  print: (setting) => (setting.kind === 'always' ? 'always' : setting.text),
};

/** The same for a label. */
export const windowOfLabel: ValueKind<WindowSetting> = { ...window, parse: readWindow };

function readWindow(text: string): WindowSetting {
  if (text === '' || text.toLowerCase() === 'always') return { kind: 'always' };
  const windows = parseWindows(text);
  return 'fault' in windows ? { kind: 'unreadable', text, fault: windows.fault } : { kind: 'windows', text, windows };
}
