import { Counter, Gauge, type Registry } from 'prom-client';

/**
 * Process metrics of the Prometheus guidelines:
 * https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics. The library's own set would wake an
 * idle process a hundred times a second to measure the event loop.
 */
export function addProcessMetrics(
  registry: Registry,
  { version, nowMs }: { readonly version: string; readonly nowMs: number },
): void {
  const registers = [registry];
  let counted = 0;
  const cpu = new Counter({
    name: 'process_cpu_seconds_total',
    help: 'CPU time in user and system mode, in seconds',
    registers,
    collect() {
      const { user, system } = process.cpuUsage();
      const total = (user + system) / 1e6;
      cpu.inc(Math.max(0, total - counted));
      counted = Math.max(counted, total);
    },
  });
  const processStart = Math.round(nowMs / 1000 - process.uptime());
  gauge('process_start_time_seconds', 'When the process started, in seconds since the epoch', () => processStart);
  gauge('process_resident_memory_bytes', 'Resident memory', () => process.memoryUsage.rss());
  gauge('process_heap_bytes', 'Heap in use', () => process.memoryUsage().heapUsed);
  new Gauge({
    name: 'upkeep_build_info',
    help: 'Always 1; its labels contain the versions',
    labelNames: ['version', 'node'],
    registers,
  }).set({ version: version.replaceAll(/\s/g, '_'), node: process.version }, 1);

  function gauge(name: string, help: string, read: () => number): void {
    const made: Gauge = new Gauge({ name, help, registers, collect: () => made.set(read()) });
  }
}
