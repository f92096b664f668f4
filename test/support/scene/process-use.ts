import { readFileSync } from 'node:fs';
import type { UpkeepProcess } from './run-upkeep.ts';

type Running = Pick<UpkeepProcess, 'child'>;

/** Memory of the whole process, in MiB. https://man7.org/linux/man-pages/man5/proc_pid_status.5.html */
export function residentMiBOf({ child }: Running): number {
  const [, kibibytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? [];
  return Number(kibibytes) / 1024;
}

/** Fields 14 and 15, in ticks of 10 ms: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html */
export function cpuMsOf({ child }: Running): number {
  const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
