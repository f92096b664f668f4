import type { ApprovalFrom } from '../../decision/approval.ts';
import { approval, approvalOfLabel, window, windowOfLabel, type WindowSetting } from '../values/holding-back.ts';
import type { Rules } from './rule.ts';

const noneNeeded: ApprovalFrom = 'never';

const always: WindowSetting = { kind: 'always' };

/** What keeps a newer version back until a person, or a time, releases it. */
export const holdingBackRules = {
  approve: {
    group: 'update',
    kind: 'parsed',
    flag: 'approve',
    env: ['APPROVE'],
    placeholder: 'KIND',
    default: noneNeeded,
    defaultMeaning: 'false',
    value: approval,
    meaning:
      'New versions that wait for a person: all (true), none (false), or those from a patch, minor or major step on. "upkeep approve NAME" releases one',
    example: 'true',
    isCommon: true,
    label: { name: 'approve', value: approvalOfLabel, fromImage: 'ignored', effect: 'overrides' },
    usedBy: 'selection',
  },
  window: {
    group: 'update',
    kind: 'parsed',
    flag: 'window',
    env: ['WINDOW'],
    placeholder: 'WINDOWS',
    default: always,
    defaultMeaning: 'always',
    value: window,
    meaning:
      'Times in which updates may begin, by the clock of --timezone: "02:00-05:00", "Sat,Sun 01:00-06:00; Wed 23:00-02:00" or always. An update that is under way is finished',
    example: 'Sat,Sun 01:00-06:00',
    isCommon: true,
    label: { name: 'window', value: windowOfLabel, fromImage: 'ignored', effect: 'overrides' },
    usedBy: 'selection',
  },
} as const satisfies Rules;
