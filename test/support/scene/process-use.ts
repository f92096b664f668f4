import { readFileSync } from 'node:fs';
import type { UpkeepProcess } from './run-upkeep.ts';

type Running = Pick<UpkeepProcess, 'child'>;

/** Memory of the whole process, in MiB. https://man7.org/linux/man-pages/man5/proc_pid_status.5.html */
export function residentMiBOf(process: Running): number {
  return mebibytesOf(process, 'VmRSS');
}

/**
 * The part of it that only this process has. The rest is mostly Node's program file: all processes of it share these
 * pages, and the kernel alone decides how many it maps, from run to run up to 12 MiB more or less.
 */
export function ownMiBOf(process: Running): number {
  return mebibytesOf(process, 'RssAnon');
}

function mebibytesOf({ child }: Running, field: 'VmRSS' | 'RssAnon'): number {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
  const [, kibibytes] = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status) ?? [];
  return Number(kibibytes) / 1024;
}

/** Fields 14 and 15, in ticks of 10 ms: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html */
export function cpuMsOf({ child }: Running): number {
  const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
