import type { RestartPolicy } from '../../src/domain/container/container.ts';
import { transactionName } from '../../src/domain/transaction/transaction-names.ts';

export function successorName(name: string): string {
  return transactionName({ role: 'new', name });
}

export function failedName(name: string): string {
  return transactionName({ role: 'bad', name });
}

export function parkedName(name: string, policy: RestartPolicy, wasRunning: boolean, hasData = false): string {
  return transactionName({ role: 'old', name, policy, wasRunning, hasData });
}

export function droppedName(name: string, policy: RestartPolicy, wasRunning: boolean, hasData = false): string {
  return transactionName({ role: 'drop', name, policy, wasRunning, hasData });
}
