import type { ApprovalFrom } from '../../decision/approval.ts';
import { approval, approvalOfLabel, window, windowOfLabel, type WindowSetting } from '../values/holding-back.ts';
import type { Rules } from './option.ts';

const noneNeeded: ApprovalFrom = 'never';

const always: WindowSetting = { kind: 'always' };

/** Options that hold a newer version back until a person or a time releases it. */
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
    meaning: 'New versions that wait for "upkeep approve": true (all), patch, minor or major',
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
    meaning: 'Times in which updates may begin: "02:00-05:00" or "Sat,Sun 01:00-06:00; Wed 23:00-02:00"',
    example: 'Sat,Sun 01:00-06:00',
    isCommon: true,
    label: { name: 'window', value: windowOfLabel, fromImage: 'ignored', effect: 'overrides' },
    usedBy: 'selection',
  },
} as const satisfies Rules;
