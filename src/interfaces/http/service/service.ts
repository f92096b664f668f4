import type { Application } from '../../../application/application.ts';

/** Part of the application that the HTTP interface uses. */
export type Service = Pick<
  Application,
  | 'check'
  | 'plan'
  | 'update'
  | 'rollBack'
  | 'decisions'
  | 'containerNames'
  | 'inventory'
  | 'unwatched'
  | 'engineVersion'
  | 'inventoryFailure'
  | 'history'
  | 'status'
  | 'engines'
  | 'eventLog'
  | 'ready'
>;

export type HistoryEntry = ReturnType<Service['history']>[number];
export type EventLog = Service['eventLog'];
export type LoggedEvent = ReturnType<EventLog['since']>[number];
export type StepEvent = Parameters<Parameters<EventLog['subscribeToSteps']>[0]>[0];
