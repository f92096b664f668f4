import { expect, test } from 'vitest';
import { fuzzHttpDoor } from './http-door.ts';

const seconds = Number(process.env['UPKEEP_FUZZ_SECONDS'] ?? 600);
const seed = Number(process.env['UPKEEP_FUZZ_SEED'] ?? Date.now() % 1_000_000);

test(
  `three hostile clients for ${seconds} s, and one that measures beside them`,
  { timeout: (seconds + 120) * 1000 },
  async () => {
    const report = await fuzzHttpDoor({ seconds, seed, connections: 5 });
    console.log(`\nRESULT seed ${seed}: ${JSON.stringify(report)}`);
    expect(Object.keys({ ...report.statuses, ...report.replies }).filter((status) => status.startsWith('5'))).toEqual(
      [],
    );
    expect(Object.keys(report.statuses)).toEqual(['200']);
    expect(report.netMs.p99).toBeLessThan(200);
    expect(report.logBytesPerRefusal).toBeLessThanOrEqual(120);
    expect(report.late.used).toBeLessThan(report.early.used + 3);
    expect(report.late.resident).toBeLessThan(report.early.resident * 1.3 + 20);
  },
);
