import type { HealthProbe } from '../values/health-probe.ts';
import { healthProbe, waitTime } from '../values/label-values.ts';
import { optionTable, type ServiceOptionParts } from './option-table.ts';

const dayMs = 86_400_000;

const noProbe: HealthProbe = { kind: 'none' };

/** Options of the stop of an old container and the health check of a new one. */
export const healthOptions = optionTable({ group: 'update', usedBy: 'replacement' }, {
  stopTimeoutMs: {
    kind: 'duration',
    flag: 'stop-timeout',
    short: 't',
    env: ['STOP_TIMEOUT', 'TIMEOUT'],
    default: 30_000,
    minMs: 0,
    maxMs: dayMs,
    meaning: 'Time that a container has to stop before it is killed; its own stop timeout overrides this',
    example: '1m30s',
    label: {
      name: 'stop-timeout',
      value: waitTime,
      fromImage: 'counts',
      effect: 'overrides',
      meaning: 'Time that it has to stop before it is killed; 1h at most',
      example: '90s',
    },
  },
  gateWindowMs: {
    kind: 'duration',
    flag: 'health-window',
    default: 10_000,
    minMs: 0,
    maxMs: dayMs,
    meaning:
      'Time that a new container must run without a restart before the old one is removed; a HEALTHCHECK and a probe must also pass',
    example: '30s',
    isCommon: true,
    label: { name: 'health-window', value: waitTime, fromImage: 'counts', effect: 'overrides', note: '1h at most' },
  },
  gateTimeoutMs: {
    kind: 'duration',
    flag: 'health-timeout',
    defaultMeaning: 'from the times of the HEALTHCHECK, at least 100s',
    minMs: 1000,
    maxMs: dayMs,
    meaning: 'Time that a new container has to become healthy before the update is rolled back',
    example: '5m',
    label: { name: 'health-timeout', value: waitTime, fromImage: 'counts', effect: 'overrides', note: '1h at most' },
  },
  healthProbe: {
    kind: 'parsed',
    flag: 'health-probe',
    placeholder: 'PROBE',
    default: noProbe,
    defaultMeaning: 'none',
    value: healthProbe,
    meaning:
      'Probe that a new container must pass before the old one is removed: http://:PORT/PATH or tcp://:PORT at its own address, or exec:COMMAND inside it',
    example: 'http://:8080/healthz',
    label: {
      name: 'health-probe',
      value: healthProbe,
      fromImage: 'ignored',
      effect: 'overrides',
      note: 'none for no probe',
    },
  },
} as const satisfies ServiceOptionParts);
